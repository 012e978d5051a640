"""Delete the rows of pages that the service does not have and that no payment needs."""

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from payments_pages.choices import VerificationState
from payments_pages.exceptions import PageError
from payments_pages.models import PaymentPage, Verification

__all__ = ["remove_page"]


def remove_page(page: PaymentPage) -> None:
    """Delete a page's row; nothing is sent to the service.

    Raise `PageError`, and delete nothing, if

    - the service has the page;
    - a payment or an expected payment belongs to the page;
    - an open verification may be of a payment on the page;
    - a row of the merchant's own models protects it.
    """
    rows = PaymentPage.objects.primary().filter(pk=page.pk)
    verifications = Verification.objects.primary().filter(page_claim=page.token)
    try:
        with transaction.atomic(using=rows.db):
            # The guard comes first: a sync that finds the page at this moment waits, or wins.
            if not rows.gone().update(slug_key=None):
                raise PageError(_("The service has this page. Deactivate it instead."))
            if verifications.filter(state__in=VerificationState.open()).exists():
                raise PageError(_("A payment that may be for this page is still asked about."))
            unpaid = rows.filter(transactions__isnull=True, expected_payments__isnull=True)
            deleted, _rows = unpaid.delete()
            if not deleted:
                raise PageError(_("A payment names this page: it says what was bought."))
    except IntegrityError as error:
        raise PageError(_("Something of this site still needs this page.")) from error
