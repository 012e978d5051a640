"""Put four offers, in three currencies and three languages, on the shop's shelf."""

from collections.abc import Iterable
from dataclasses import dataclass

from example_project.demo.control import Control
from example_project.shop.models import Kind, Offer
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page

__all__ = ["CATALOGUE", "Item", "shelve", "stock"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Describe one offer; `amount` is in minor units of `currency`, None if the payer chooses.

    `name` and `description` are the page's own, in English; the rest are the shop's. `popup`
    says that it is ordered in the shop and paid in a popup. `questions` are put to the payer.
    """

    slug: str
    name: str
    description: str
    currency: str
    amount: int | None
    kind: Kind
    names: dict[str, str]
    descriptions: dict[str, str]
    popup: bool = False
    questions: tuple[str, ...] = ()


CATALOGUE = (
    Item(
        slug="photo-archive",
        name="Photo archive",
        description="A year's licence for two thousand photographs.",
        currency="ILS",
        amount=12050,
        kind=Kind.LICENCE,
        names={"ar": "أرشيف الصور", "he": "ארכיון תמונות"},
        descriptions={
            "ar": "رخصة لسنة واحدة لألفي صورة.",
            "he": "רישיון לשנה לאלפיים תצלומים.",
        },
    ),
    Item(
        slug="oud-evening",
        name="An evening of oud",
        description="One seat, Thursday at eight.",
        currency="JOD",
        amount=1250,
        kind=Kind.TICKET,
        names={"ar": "أمسية عود", "he": "ערב עוד"},
        descriptions={
            "ar": "مقعد واحد، الخميس الساعة الثامنة.",
            "he": "מקום אחד, יום חמישי בשמונה.",
        },
    ),
    Item(
        slug="friends-of-the-library",
        name="Friends of the library",
        description="A reader's card; you choose what you give.",
        currency="USD",
        amount=None,
        kind=Kind.TICKET,
        names={"ar": "أصدقاء المكتبة", "he": "ידידי הספרייה"},
        descriptions={
            "ar": "بطاقة قارئ؛ أنت تختار قيمة المساهمة.",
            "he": "כרטיס קורא; הסכום לבחירתכם.",
        },
    ),
    Item(
        slug="gift-card",
        name="Gift card",
        description="Fifty shekels to spend here, paid without leaving the shop.",
        currency="ILS",
        amount=5000,
        kind=Kind.LICENCE,
        names={"ar": "بطاقة هدية", "he": "כרטיס מתנה"},
        descriptions={
            "ar": "خمسون شيكلًا تُنفق هنا، تُدفع دون مغادرة المتجر.",
            "he": "חמישים שקלים לקנייה כאן; משלמים בלי לצאת מהחנות.",
        },
        popup=True,
    ),
)


def stock(control: Control) -> None:
    """Put the catalogue on the shelf.

    Transactions name their page in `metadata.referrer`, as has been seen of the service: so a
    webhook alone, of a payer who closed the tab, is enough to know what was paid for.
    """
    control.post("account", metadata="referrer")
    shelve(control, CATALOGUE)


def shelve(control: Control, items: Iterable[Item]) -> None:
    """Create what is missing of `items`, at the service first; change nothing else.

    The interface takes no currency for a page: it is the account's, so the account is told
    through the sandbox's control API before each page, and left with the catalogue's first after.
    """
    for item in items:
        texts = {
            "kind": item.kind,
            "names": item.names,
            "descriptions": item.descriptions,
            "popup": item.popup,
        }
        page = PaymentPage.objects.confirmed().filter(slug=item.slug).first()
        if page is not None:
            # Heals an offer that was deleted; leaves one that was edited.
            Offer.objects.get_or_create(page=page, defaults=texts)
            continue
        control.post("account", currency=item.currency)
        page = create_page(
            name=item.name,
            amount=item.amount,
            description=item.description,
            slug=item.slug,
            custom_fields=[
                {"display_name": question, "variable_name": question.lower().replace(" ", "_")}
                for question in item.questions
            ],
        )
        Offer.objects.update_or_create(page=page, defaults=texts)
    control.post("account", currency=CATALOGUE[0].currency)
