"""The URLs of a site with two admins, both of which show our models."""

from django.urls import path

from payments_pages.admin import PaymentPageAdmin, TransactionAdmin, VerificationAdmin
from payments_pages.models import PaymentPage, Transaction, Verification
from tests.integration.setups.project.office import OfficeAdminSite
from tests.integration.setups.project.urls import urlpatterns as usual

office = OfficeAdminSite(name="office")
office.register(PaymentPage, PaymentPageAdmin)
office.register(Transaction, TransactionAdmin)
office.register(Verification, VerificationAdmin)

urlpatterns = [*usual, path("office/", office.urls)]
