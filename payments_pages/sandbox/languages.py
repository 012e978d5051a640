"""The languages of the hosted pages.

Their catalogues are the sandbox's own. In the package's, which Django merges with all others, a
word like "Pay" would become the merchant's word, too.
"""

import gettext as catalogues
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from werkzeug.wrappers import Request

from payments_pages.merchant import PAGE_LANGUAGES

__all__ = ["ENGLISH", "LANGUAGES", "PARAMETER", "Language", "language_of"]

PARAMETER = "lang"
"""The query's parameter by which a payer chooses another language than the browser's first."""

_LOCALE = Path(__file__).resolve().parent / "locale"
_NAMES = {"en": "English", "ar": "العربية", "he": "עברית"}
_RIGHT_TO_LEFT = frozenset({"ar", "he"})


@dataclass(frozen=True, slots=True)
class Language:
    """One language of the hosted pages."""

    code: str

    @property
    def name(self) -> str:
        """Return its own name for itself."""
        return _NAMES[self.code]

    @property
    def direction(self) -> str:
        """Return the value of `dir`."""
        return "rtl" if self.code in _RIGHT_TO_LEFT else "ltr"

    def gettext(self, text: str) -> str:
        """Return the translation; the English text if the catalogue has none."""
        return _catalogue(self.code).gettext(text)


@cache
def _catalogue(code: str) -> catalogues.NullTranslations:
    # English has no catalogue: the texts are in the source.
    return catalogues.translation("django", _LOCALE, languages=[code], fallback=True)


LANGUAGES: Mapping[str, Language] = {code: Language(code) for code in PAGE_LANGUAGES}
ENGLISH = LANGUAGES["en"]


def language_of(request: Request) -> Language:
    """Return what the query asks for, or the browser's favourite among ours, or English."""
    # Werkzeug's own choice takes English for "he-IL, en": it prefers a whole match to the favourite.
    accepted = (tag.split("-")[0].lower() for tag in request.accept_languages.values())
    wanted = (request.args.get(PARAMETER, ""), *accepted)
    return next((LANGUAGES[code] for code in wanted if code in LANGUAGES), ENGLISH)
