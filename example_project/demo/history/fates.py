"""Let pages meet what pages meet: switched off, changed elsewhere, lost, never confirmed."""

from collections.abc import Iterator
from functools import partial

from example_project.demo.control import Control
from example_project.demo.history.clock import set_back_page
from example_project.demo.history.payments import Till
from example_project.demo.history.scenes import Scene
from example_project.demo.stock import Item
from example_project.shop.models import Kind
from payments_pages.exceptions import PageError
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page, set_active, sync_pages

__all__ = [
    "DRIFTING",
    "ELSEWHERE",
    "INACTIVE",
    "LOST",
    "PAGES",
    "UNCONFIRMED",
    "drift",
    "fates",
    "grow_old",
    "leave_unconfirmed",
]

DRIFTING, INACTIVE, LOST, UNCONFIRMED = "calligraphy", "pottery-week", "paper-catalogue", "poster"
ELSEWHERE = "tea-by-post"
"""A page of another site on the same account."""

PAGES = (
    Item(
        slug=DRIFTING,
        name="ورشة الخط العربي",
        description="ثلاث أمسيات، والحبر والورق علينا.",
        currency="ILS",
        amount=14000,
        kind=Kind.TICKET,
        names={"en": "Arabic calligraphy", "he": "סדנת כתב ערבי"},
        descriptions={
            "en": "Three evenings; ink and paper are on us.",
            "he": "שלושה ערבים; הדיו והנייר עלינו.",
        },
        questions=("Level",),
    ),
    Item(
        slug=INACTIVE,
        name="שבוע קדרות",
        description="חמישה בקרים על האובניים.",
        currency="ILS",
        amount=90000,
        kind=Kind.TICKET,
        names={"en": "A week of pottery", "ar": "أسبوع الفخار"},
        descriptions={
            "en": "Five mornings at the wheel.",
            "ar": "خمسة صباحات أمام دولاب الفخار.",
        },
    ),
    Item(
        slug=LOST,
        name="Paper catalogue",
        description="The printed catalogue of 2025.",
        currency="ILS",
        amount=3500,
        kind=Kind.LICENCE,
        names={"ar": "الكتالوج المطبوع", "he": "הקטלוג המודפס"},
        descriptions={"ar": "الكتالوج المطبوع لعام 2025.", "he": "הקטלוג המודפס של 2025."},
    ),
)


def fates(till: Till) -> Iterator[Scene]:
    """Lose one page at the service, switch one off, meet one that another site sells."""
    yield Scene(26.0, partial(_lose, till, 26.0))
    yield Scene(18.0, partial(_switch_off, till, 18.0))
    yield Scene(16.0, partial(_meet_another_site, till))


def _lose(till: Till, days_ago: float) -> None:
    if any(page["slug"] == LOST for page in till.control.get("state")["pages"]):
        till.control.delete(f"pages/{LOST}")
    sync_pages()
    set_back_page(LOST, till.ago(days_ago))


def _switch_off(till: Till, days_ago: float) -> None:
    set_active(PaymentPage.objects.get(slug=INACTIVE), active=False)
    set_back_page(INACTIVE, till.ago(days_ago))


def _meet_another_site(till: Till) -> None:
    """Let a site on the same account make a page of its own: it is mirrored, and not sold here."""
    if not any(page["slug"] == ELSEWHERE for page in till.control.get("state")["pages"]):
        till.control.post(
            "pages",
            name="Tea by post",
            description="Sold by our tea room, on its own site.",
            slug=ELSEWHERE,
            amount=6000,
            currency="ILS",
            redirect_url="https://tea-room.example/payments/callback/",
            createdAt=till.ago(17).isoformat(),
        )
    sync_pages()


def drift(control: Control) -> None:
    """Change one page in the service's dashboard; then sync.

    The new price is another page's, so that payments of the two cannot be told apart by money.
    """
    control.post(f"pages/{DRIFTING}", name="ورشة الخط العربي – للمبتدئين", amount=12050)
    sync_pages()


def grow_old(till: Till) -> None:
    """Let the service say of the pages that they are older than what was paid on them."""
    made = till.ago(45).isoformat()
    for page in till.control.get("state")["pages"]:
        till.control.post(f"pages/{page['id']}", createdAt=made, updatedAt=made)
    sync_pages()


def leave_unconfirmed(control: Control) -> None:
    """Ask for a page in a moment when the service's answers are lost."""
    if PaymentPage.objects.filter(slug=UNCONFIRMED).exists():
        return
    control.post("faults", operation="create", kind="answer_lost", times=1)
    control.post("faults", operation="fetch", kind="status", status=503, reference=UNCONFIRMED)
    try:
        create_page(name="Poster", amount=4500, slug=UNCONFIRMED)
    except PageError:
        # What is wanted: a row that nobody knows yet whether the service has the page of.
        pass
    finally:
        control.delete("faults")
