"""Find what a transaction pays for: a page or an expected payment.

The setting `ATTRIBUTION` names the steps. Each step looks in one place, and the first step that
finds something decides. If a later step finds something *else*, the attribution is a conflict, and
the policy holds the payment: the payer's side can write everything but an expected payment.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit
from uuid import UUID

from django.db.models import Model
from django.utils.functional import cached_property

from payments_pages.choices import Attributed
from payments_pages.conf import conf
from payments_pages.confirmation.policy import Expectation, Facts, Offer, fits
from payments_pages.confirmation.statements import (
    EXPECTED_BY_KEY,
    PAGE_BY_TOKEN,
    PAGE_OF_CALLBACK,
)
from payments_pages.exceptions import InvalidReference
from payments_pages.ids import parse_id
from payments_pages.models import ExpectedPayment, PaymentPage, Transaction, primary_alias
from payments_pages.money import fold_currency
from payments_pages.references import check_reference, reference_key, text_key

__all__ = [
    "STEPS",
    "Attribution",
    "Evidence",
    "attribute",
    "expectation_of",
    "facts_of",
    "replaceable_hints",
]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the steps may read. `amount` is in minor units; None if it could not be read.

    `page_hint` is the token of the page by whose callback the payer came back; None if unknown.
    """

    reference: str
    reference_key: str
    amount: int | None
    currency: str
    metadata: Mapping[str, object]
    page_hint: UUID | None

    @cached_property
    def callback(self) -> tuple[PaymentPage | None, bool]:
        """Look up the page of `page_hint`, and whether this reference may be an expected payment's.

        One look-up tells both: most payers come back by a page's callback, and of these few pay an
        expected payment.
        """
        if self.page_hint is None:
            return None, True
        page = PAGE_OF_CALLBACK.first(
            primary_alias(PaymentPage), token=self.page_hint, key=self.reference_key
        )
        return (page, True) if page is None else (page, bool(vars(page).pop("is_expected")))


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """What is paid for: a page, an expected payment (perhaps with its page), or neither."""

    by: Attributed = Attributed.NONE
    page: PaymentPage | None = None
    expected: ExpectedPayment | None = None
    conflict: bool = False


def by_expected(evidence: Evidence) -> Attribution | None:
    """Find the expected payment with this reference."""
    _page, may_be_expected = evidence.callback
    expected = _expected(evidence.reference, evidence.reference_key) if may_be_expected else None
    if expected is None:
        return None
    return Attribution(by=Attributed.EXPECTED, page=expected.page, expected=expected)


def by_metadata(evidence: Evidence) -> Attribution | None:
    """Find the expected payment or the page that the transaction's metadata names.

    - An expected payment by its reference, if it is paid under a second reference because the
      payer tried twice (docs/cases.md C61).
    - A page by its token, number or slug.
    - A page by a `referrer` whose host and path are `PAY_URL` and a slug (docs/service.md, only
      seen).

    In popup flows the payer's browser writes the metadata.
    """
    expected = _expected(evidence.metadata.get("payments_pages_expected"))
    if expected is not None:
        return Attribution(by=Attributed.METADATA, page=expected.page, expected=expected)
    for key, read in _METADATA_KEYS:
        if (value := evidence.metadata.get(key)) and (lookup := read(value)):
            page = PaymentPage.objects.primary().filter(**lookup).first()
            if page is not None:
                return Attribution(by=Attributed.METADATA, page=page)
    return None


def by_callback(evidence: Evidence) -> Attribution | None:
    """Find the page by whose own callback the payer came back."""
    page, _may_be_expected = evidence.callback
    return Attribution(by=Attributed.CALLBACK, page=page) if page else None


def by_amount(evidence: Evidence) -> Attribution | None:
    """Find the only active page with this price and currency.

    Not among the default steps, because two pages may get the same price.
    """
    if evidence.amount is None:
        return None
    pages = list(
        PaymentPage.objects.primary().filter(
            domain=conf.mode,
            active=True,
            amount=evidence.amount,
            currency=fold_currency(evidence.currency),
        )[:2]
    )
    return Attribution(by=Attributed.AMOUNT, page=pages[0]) if len(pages) == 1 else None


STEPS: Mapping[str, Callable[[Evidence], Attribution | None]] = {
    "expected": by_expected,
    "metadata": by_metadata,
    "callback": by_callback,
    "amount": by_amount,
}


def attribute(evidence: Evidence, steps: Iterable[str]) -> Attribution:
    """Run the steps in order; return the first result, as a conflict if a later one differs."""
    found = Attribution()
    for name in steps:
        if name == "amount" and found.by is not Attributed.NONE:
            continue  # the price is only a guess: it cannot contradict another step
        answer = STEPS[name](evidence)
        if answer is None:
            continue
        if found.by is Attributed.NONE:
            found = answer
        elif _differ(found.page, answer.page) or _differ(found.expected, answer.expected):
            return Attribution(by=found.by, page=found.page, expected=found.expected, conflict=True)
    return found


def facts_of(transaction: Transaction) -> Facts:
    """Return the facts of a mirrored transaction that the policy reads."""
    return Facts(
        status=transaction.status,
        domain=transaction.domain,
        amount=transaction.amount,
        currency=transaction.currency,
        paid_at=transaction.paid_at,
    )


def expectation_of(attribution: Attribution, reference_key: str) -> Expectation | None:
    """Return what must have been paid for this attribution; None if nothing is attributed.

    Of an expected payment's page only the mode counts. The merchant's own code asked for the
    payment, so it may be for a page that is off sale or that another site sells (our decision).
    """
    if (expected := attribution.expected) is not None:
        page = expected.page
        return Expectation(
            amount=expected.amount,
            currency=expected.currency,
            offer=Offer(domain=page.domain) if page is not None else None,
            conflict=attribution.conflict,
            paid_by_other=expected.paid_by_key not in {"", reference_key},
        )
    if (page := attribution.page) is not None:
        return Expectation(
            amount=page.amount,
            currency=page.currency,
            offer=_offer_of(page),
            conflict=attribution.conflict,
        )
    return None


def _offer_of(page: PaymentPage) -> Offer:
    off = () if page.active else (page.inactive_since,)
    gone = () if page.missing_since is None else (page.missing_since,)
    return Offer(
        domain=page.domain,
        confirmed=page.remote_id is not None,
        withdrawn=(*off, *gone),
        sold_here=page.sold_here,
    )


def replaceable_hints(
    stored: UUID | None, other: UUID, paid: Transaction | None
) -> tuple[UUID, ...]:
    """Return the stored page hint in a tuple if `other` may replace it; otherwise an empty tuple.

    It may if `paid` is not enough for the stored page and is enough for the other one. Without this
    rule anybody who sees a reference could send a false page hint first, and the true one would be
    refused. `paid` is None until the service has answered: then the stored hint stays.
    """
    if stored is None or paid is None:
        return ()
    facts = facts_of(paid)
    worse = not _is_enough_for(stored, facts) and _is_enough_for(other, facts)
    return (stored,) if worse else ()


def _is_enough_for(token: UUID, facts: Facts) -> bool:
    page = PAGE_BY_TOKEN.first(primary_alias(PaymentPage), token=token)
    return page is not None and fits(facts, Expectation(amount=page.amount, currency=page.currency))


def _differ(one: Model | None, other: Model | None) -> bool:
    return one is not None and other is not None and one != other


def _expected(reference: object, key: str = "") -> ExpectedPayment | None:
    """Return the expected payment with exactly this reference, byte for byte, or None.

    None also if `reference` is not a text, or a text that cannot be a reference.
    """
    if not isinstance(reference, str):
        return None
    if not key:
        try:
            key = reference_key(check_reference(reference))
        except InvalidReference:
            return None
    expected = EXPECTED_BY_KEY.first(primary_alias(ExpectedPayment), key=key)
    return expected if expected is not None and expected.reference == reference else None


def _token(value: object) -> dict[str, object] | None:
    try:
        return {"token": UUID(str(value))}
    except ValueError:
        return None


def _number(value: object) -> dict[str, object] | None:
    remote_id = parse_id(str(value))
    return None if remote_id is None else {"domain": conf.mode, "remote_id": remote_id}


def _slug(value: object) -> dict[str, object] | None:
    return {"slug_key": text_key(conf.mode, value)} if isinstance(value, str) else None


def _referrer(value: object) -> dict[str, object] | None:
    if not isinstance(value, str):
        return None
    try:
        there, home = urlsplit(value), urlsplit(conf.pay_url)
    except ValueError:
        return None
    prefix = f"{home.path}/"
    if (there.scheme, there.netloc) != (home.scheme, home.netloc):
        return None
    if not there.path.startswith(prefix):
        return None
    return _slug(unquote(there.path.removeprefix(prefix).rstrip("/")))


_METADATA_KEYS: tuple[tuple[str, Callable[[object], dict[str, object] | None]], ...] = (
    ("payments_pages_token", _token),
    ("page_id", _number),
    ("page_slug", _slug),
    ("slug", _slug),
    ("referrer", _referrer),
)
