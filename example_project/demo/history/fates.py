"""Let pages meet what pages meet: switched off, changed elsewhere, lost, never confirmed."""

from example_project.demo.control import Control
from example_project.demo.stock import Item
from example_project.shop.models import Kind
from payments_pages.exceptions import PageError
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page, set_active, sync_pages

__all__ = [
    "DRIFTING",
    "INACTIVE",
    "LOST",
    "PAGES",
    "UNCONFIRMED",
    "leave_unconfirmed",
    "meet_fates",
]

DRIFTING, INACTIVE, LOST, UNCONFIRMED = "calligraphy", "pottery-week", "paper-catalogue", "poster"

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


def meet_fates(control: Control) -> None:
    """Switch one page off, change one in the service's dashboard, lose one there; then sync.

    The new price is another page's, so that payments of the two cannot be told apart by money.
    """
    set_active(PaymentPage.objects.get(slug=INACTIVE), active=False)
    control.post(f"pages/{DRIFTING}", name="ورشة الخط العربي – للمبتدئين", amount=12050)
    if any(page["slug"] == LOST for page in control.get("state")["pages"]):
        control.delete(f"pages/{LOST}")
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
