"""URLs of a project whose admin sites each lack a part of ours, or have it by a class of their own."""

from django.contrib.admin import AdminSite, ModelAdmin
from django.urls import path

from payments_pages.admin import PaymentPageAdmin, TransactionAdmin, VerificationAdmin
from payments_pages.models import PaymentPage, Transaction, Verification
from tests.support.urls import urlpatterns as of_one_site

CLASSES = {
    PaymentPage: PaymentPageAdmin,
    Transaction: TransactionAdmin,
    Verification: VerificationAdmin,
}

urlpatterns = list(of_one_site)
for without in CLASSES:
    lacking = AdminSite(name=f"without-{without._meta.model_name}")
    replaced = AdminSite(name=f"plain-{without._meta.model_name}")
    for model, admin_class in CLASSES.items():
        if model is not without:
            lacking.register(model, admin_class)
        replaced.register(model, ModelAdmin if model is without else admin_class)
    urlpatterns += [path(f"{site.name}/", site.urls) for site in (lacking, replaced)]
