"""URLs of a project with two admin sites: Django's own, and one for the back office."""

from django.contrib.admin import AdminSite
from django.urls import path

from payments_pages.admin import PaymentPageAdmin, TransactionAdmin, VerificationAdmin
from payments_pages.models import PaymentPage, Transaction, Verification
from tests.support.urls import urlpatterns as of_one_site

back_office = AdminSite(name="back-office")
back_office.register(PaymentPage, PaymentPageAdmin)
back_office.register(Transaction, TransactionAdmin)
back_office.register(Verification, VerificationAdmin)

urlpatterns = [*of_one_site, path("back-office/", back_office.urls)]
