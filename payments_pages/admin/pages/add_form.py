"""The form that creates a page, blank or filled in from another page."""

from typing import Any

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from payments_pages.admin.pages.copies import copied_metadata, copied_questions
from payments_pages.admin.pages.forms import PaymentPageForm
from payments_pages.admin.pages.logos import LOGO, LogoField, LogoInput
from payments_pages.admin.pages.questions import QuestionsField
from payments_pages.admin.pages.slugs import SlugInput, availability
from payments_pages.marks import clean_pasted
from payments_pages.models import PaymentPage
from payments_pages.pages import MAX_SLUG, create_page, slug_key, slug_of_name

__all__ = ["PaymentPageAddForm"]


class PaymentPageAddForm(PaymentPageForm):
    """The form that creates a page.

    Its slug is suggested when the form is shown, and so is its key: a form that is sent twice
    names the same page twice (docs/cases.md D17). If staff leave the slug empty, one is made of a
    Latin name; for another name, or if that slug is taken, the suggestion is used, which is a
    hidden input, too.

    `original`: the page that this one is to be like. What the service takes and the form does not
    show is copied from it.
    """

    slug = forms.CharField(
        label=_("Slug"),
        required=False,
        help_text=_(
            "The last part of the public address: Latin letters, digits, hyphens and "
            "underscores. Change the suggested one if you like; it cannot be changed later."
        ),
        show_hidden_initial=True,
        widget=SlugInput(
            attrs={
                "class": "vTextField",
                "dir": "ltr",
                "maxlength": MAX_SLUG,
                "autocapitalize": "off",
                "autocomplete": "off",
                "spellcheck": "false",
            }
        ),
    )
    ask_for = QuestionsField(
        label=_("Ask the payer for"),
        required=False,
        help_text=_(
            "For example: Phone number. The payer fills these in; a name that is left empty is "
            "made up. They cannot be changed later."
        ),
    )
    logo = LogoField(
        widget=LogoInput(attrs={"class": "vURLField", "dir": "ltr"}),
        label=_("Logo image address"),
        required=False,
        max_length=2000,
        help_text=_("Begins with https://. Shown on the page. It cannot be changed later."),
    )

    class Meta(PaymentPageForm.Meta):
        fields = ("name", "description", "slug")

    def __init__(self, *args: Any, original: PaymentPage | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.original = original
        if not self.currencies.asked:
            self.fields["amount"].label = gettext("Amount in the currency of your account")
        if self.currencies.newest:
            newest = gettext("The last page that was made is in %(currency)s.")
            said = newest % {"currency": self.currencies.newest}
            self.fields["amount"].help_text = f"{said} {self.fields['amount'].help_text}"

    def clean_slug(self) -> str:
        """Return the slug without marks that do not show; `create_page` checks it."""
        return clean_pasted(self.cleaned_data["slug"])

    def _slug_in_place_of_none(self) -> str:
        """Return a slug made of the name if it is free, else the one that was suggested.

        Of a form that is sent twice the same both times, although the service may answer only once.
        """
        suggested = str(self.data.get(self.add_initial_prefix("slug"), ""))
        made = slug_of_name(self.cleaned_data["name"])
        if not made or (suggested and self._rows(suggested).exists()):
            return suggested
        if self._has_all_typed(self._rows(made).first()):
            return made
        is_begun = self._rows(made).filter(remote_id__isnull=True).exists()
        return made if not is_begun and availability(made)[0] == "free" else suggested

    def find_repeated(self) -> PaymentPage | None:
        """Return the page with the typed slug, if it has all that was typed."""
        slug = self.cleaned_data.get("slug")
        if not slug:
            return None
        page = self._rows(slug).confirmed().first()
        return page if self._has_all_typed(page) else None

    def _rows(self, slug: str) -> Any:
        return PaymentPage.objects.primary().filter(slug_key=slug_key(slug))

    def _has_all_typed(self, page: PaymentPage | None) -> bool:
        if page is None or not page.made_here or page.missing_since is not None:
            return False
        data = self.cleaned_data
        typed = [data["name"].strip(), data["amount"], data["description"]]
        return [page.name, page.amount, page.description] == typed

    def submit(self) -> PaymentPage:
        """Create the page at the service and mirror it."""
        data: dict[str, Any] = self.cleaned_data
        data["slug"] = data["slug"] or self._slug_in_place_of_none()
        questions, metadata = data["ask_for"], {}
        if self.original is not None:
            questions = copied_questions(questions, self.original)
            metadata = copied_metadata(self.original)
        if data["logo"]:
            metadata[LOGO] = data["logo"]
        return create_page(
            name=data["name"],
            amount=data["amount"],
            description=data["description"],
            slug=data["slug"],
            custom_fields=questions,
            metadata=metadata,
            site_url=self.site_url,
        )
