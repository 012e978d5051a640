"""Payers and staff read Arabic and Hebrew: the pages, the admin, the numbers."""

import gettext
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import ngettext

import payments_pages
from payments_pages.choices import Door, EventKind
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction, Verification
from payments_pages.sandbox import Sandbox
from tests.conftest import mirror_another
from tests.support.headings import HEADINGS

# Django's own, in the admin's sidebar; its Hebrew catalogue lacks it.
NOT_OURS = frozenset(
    {
        "",
        # Django's own, which its Hebrew lacks.
        "Model name",
        "Add link",
        "Change or view list link",
        # Django's own, of the sign beside the field that searches: no language has it.
        "Search",
        # What the service said, as it came.
        "success",
        "Card accepted",
        "Card details sent",
    }
)
LOCALES = Path(payments_pages.__file__).parent / "locale"
LANGUAGES = ("ar", "he")
BANNERS = {"ar": "دفعة تجريبية – لم يتم تحويل أي مبلغ", "he": "תשלום ניסיון – לא הועבר כסף"}
PAYMENTS = {
    "paid": {},
    "checking": {"amount": 9999},
    "processing": {"status": "pending"},
    "not_paid": {"status": "failed"},
}
PAGES_DONE = {
    "ar": {
        0: "لا صفحات حتى الآن",
        1: "صفحة واحدة حتى الآن",
        2: "صفحتان حتى الآن",
        3: "3 صفحات حتى الآن",
        11: "11 صفحة حتى الآن",
        100: "100 صفحة حتى الآن",
    },
    "he": {1: "דף אחד עד כה", 2: "שני דפים עד כה", 3: "3 דפים עד כה", 20: "20 דפים עד כה"},
}


class Readable(HTMLParser):
    """Gather what people read or hear: text and telling attributes; not code or kept JSON."""

    SILENT = ("script", "style", "pre")
    TELLING = ("alt", "title", "placeholder", "aria-label", "data-print", "data-show")

    def __init__(self, html: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.muted = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.muted += tag in self.SILENT
        known = dict(attrs)
        self.parts += [known[name] or "" for name in self.TELLING if name in known]
        if tag == "input" and known.get("type") == "submit":
            self.parts.append(known.get("value") or "")

    def handle_endtag(self, tag: str) -> None:
        self.muted -= tag in self.SILENT

    def handle_data(self, data: str) -> None:
        if not self.muted:
            self.parts.append(" ".join(data.split()))


def texts(language: str) -> dict[str, list[str]]:
    """Return the compiled catalogue: each English text of four letters or more, translated."""
    with (LOCALES / language / "LC_MESSAGES" / "django.mo").open("rb") as compiled:
        catalogue = gettext.GNUTranslations(compiled)._catalog  # type: ignore[attr-defined]
    found: dict[str, list[str]] = {}
    for key, text in catalogue.items():
        msgid = key[0] if isinstance(key, tuple) else key
        if len(re.sub(r"[^A-Za-z]", "", msgid)) >= 4:
            found.setdefault(msgid, []).append(text)
    return found


def reading(msgid: str) -> re.Pattern[str]:
    """Find a text among what is read, as words of their own and not as part of an address."""
    parts = (re.escape(part) for part in re.split(r"%\(\w+\)[a-z]", msgid))
    return re.compile(rf"(?<![\w/.@-]){'.+?'.join(parts)}(?![\w/@-])", re.IGNORECASE)


@pytest.fixture
def answers(client: Client, tea_box: PaymentPage, sandbox: Sandbox, come_back: Any) -> Any:
    """Show one of the six pages in a language."""

    def show(page: str, language: str) -> Any:
        if page == "unknown":
            return client.get(reverse("payments_pages:result", args=[uuid4()]), {"lang": language})
        if page == "unavailable":
            sandbox.faults.add(operation="verify", kind="status", status=503)
            address = reverse("payments_pages:page-callback", args=[tea_box.token])
            return client.get(address, {"reference": "PPG-1", "lang": language})
        come_back(sandbox.pay("tea-box", **PAYMENTS[page]), tea_box)
        address = reverse("payments_pages:result", args=[Transaction.objects.get().token])
        return client.get(address, {"lang": language})

    return show


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", [*PAYMENTS, "unavailable", "unknown"])
def test_a_payer_reads_the_outcome_in_their_language(
    answers: Any, page: str, language: str
) -> None:
    response = answers(page, language)
    shown = response.content.decode()
    heading = HEADINGS[language][page]
    assert f'<html lang="{language}" dir="rtl">' in shown
    assert f"<h1>{heading}</h1>" in shown
    assert f"<title>{heading}</title>" in shown
    assert response.headers["Content-Language"] == language
    read = Readable(shown).parts
    left = {msgid for msgid in texts(language) if any(map(reading(msgid).search, read))}
    assert left == set()
    if page in PAYMENTS:
        amount = "99.99" if page == "checking" else "100.00"
        assert f'<bdi dir="ltr">{amount}\u00a0ILS</bdi>' in shown
        assert BANNERS[language] in shown


@pytest.fixture
def busy_shop(tea_box: PaymentPage, sandbox: Sandbox) -> list[str]:
    """Fill the admin with a row of each kind and state; return the addresses to read.

    What the service and the payer say is chosen so that it is none of our own words.
    """
    said = {"gateway_response": "Ok", "message": "Ok", "channel": "pos"}
    for amount in (10000, 9999):
        reference = sandbox.pay("tea-box", amount=amount, **said)
        confirm_payment(reference, door=Door.CALLBACK, page_token=tea_box.token)
    confirm_payment("PPG-404", door=Door.WEBHOOK)
    tea_box.custom_fields = [{"display_name": "Telefon", "variable_name": "telefon"}]
    tea_box.save()
    states = [{"remote_id": None}, {"missing_since": timezone.now()}, {"domain": "live"}]
    for number, state in enumerate([*states, {"amount": None}]):
        page = mirror_another(sandbox, name=f"Tee {number}", slug=f"tee-{number}", amount=500)
        PaymentPage.objects.filter(pk=page.pk).update(**state)
    held, done = Fulfilment.objects.filter(state="held"), Fulfilment.objects.exclude(state="held")
    Transaction.objects.filter(pk=held.get().transaction_id).update(amount=None)
    Event.objects.all().delete()
    doors = [*Door, *[Door.ADMIN] * len(EventKind)]
    for kind, door in zip(EventKind, doors, strict=False):
        key = done.get().reference_key
        Event.objects.create(reference_key=key, kind=kind, door=door)
    return [reverse("admin:payments_pages_paymentpage_add"), *_addresses()]


def _addresses() -> Iterator[str]:
    yield reverse("admin:app_list", args=["payments_pages"])
    yield reverse("admin:payments_pages_transaction_verify_reference")
    held = Transaction.objects.get(fulfilment__state="held")
    for action in ("approve", "attribute", "note", "reject", "verify"):
        yield reverse(f"admin:payments_pages_transaction_{action}", args=[held.pk])
    for model in (PaymentPage, Transaction, Verification):
        name = f"admin:payments_pages_{model._meta.model_name}"
        yield reverse(f"{name}_changelist")
        yield from (reverse(f"{name}_change", args=[row.pk]) for row in model.objects.all())


def _read_all(client: Client, addresses: list[str], language: str) -> list[str]:
    headers = {"accept-language": language}
    shown = [client.get(address, headers=headers) for address in addresses]
    assert [response.status_code for response in shown] == [200] * len(addresses)
    asked = {
        "action": "approve_held",
        "_selected_action": Transaction.objects.values_list("pk", flat=True),
    }
    address = reverse("admin:payments_pages_transaction_changelist")
    shown.append(client.post(address, asked, headers=headers))
    direction = "ltr" if language == "en" else "rtl"
    pages = [response.content.decode() for response in shown]
    assert all(f'lang="{language}" dir="{direction}"' in page for page in pages)
    not_ours = NOT_OURS | _headings_of_searches(language)
    return [part for page in pages for part in Readable(page).parts if part not in not_ours]


def _headings_of_searches(language: str) -> set[str]:
    """Return headings of Django's own, from 6.0 on, as they are where its catalogue lacks them."""
    with translation.override(language):
        return {
            f"Search {model._meta.verbose_name_plural}"
            for model in (PaymentPage, Transaction, Verification)
        }


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("role", ["superuser", "viewer"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_staff_read_none_of_our_texts_in_english(
    busy_shop: list[str], client: Client, language: str, role: str
) -> None:
    if role == "superuser":
        user = User.objects.create_superuser("noor")
    else:
        user = User.objects.create_user("noor", is_staff=True)
        user.user_permissions.set(
            Permission.objects.filter(content_type__app_label="payments_pages").exclude(
                codename__startswith="change_"
            )
        )
    client.force_login(user)
    english = _read_all(client, busy_shop, "en")
    ours = {msgid for msgid in texts(language) if any(map(reading(msgid).search, english))}
    assert len(ours) > 100
    translated = _read_all(client, busy_shop, language)
    left = {(msgid, part) for msgid in ours for part in translated if reading(msgid).search(part)}
    assert left == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_counted_pages_take_the_plural_form_of_their_number(language: str) -> None:
    with translation.override(language):
        for count, expected in PAGES_DONE[language].items():
            text = ngettext("%(seen)d page so far", "%(seen)d pages so far", count)
            assert text % {"seen": count} == expected
