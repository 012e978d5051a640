"""Languages, and how figures are written."""

from tests.integration.setups.setup import Setup

__all__ = ["ROWS"]

ENGLISH, ARABIC = ("en", "English"), ("ar", "العربية")
FRENCH, HEBREW = ("fr", "français"), ("he", "עברית")
URLS = "tests.integration.setups.project"

ROWS = (
    Setup(
        name="languages never set",
        special="`LANGUAGES` is not in the settings, so it has all of Django's.",
        holds="English, Arabic and Hebrew are offered, each once.",
        settings={"LANGUAGES": None},
    ),
    Setup(
        name="Arabic site",
        special="`LANGUAGE_CODE` is `ar`; staff name no language.",
        holds="Who asks for a language that is not offered gets Arabic, from right to left.",
        settings={"LANGUAGE_CODE": "ar", "LANGUAGES": [ARABIC, ENGLISH, HEBREW]},
        staff_language="",
        languages={"ar": "ar", "en": "en", "he": "he", "de": "ar"},
    ),
    Setup(
        name="French site",
        special="`fr` is the only language of the site; we have none.",
        holds="Payers read English, and the page says that it is.",
        settings={"LANGUAGE_CODE": "fr", "LANGUAGES": [FRENCH]},
        staff_language="fr",
        languages={"fr": "en", "en": "en", "ar": "en"},
        offered=(),
    ),
    Setup(
        name="French and English site",
        special="`LANGUAGE_CODE` is `fr`, and `en` is the site's second language.",
        holds="Payers read English, whatever they ask for.",
        settings={"LANGUAGE_CODE": "fr", "LANGUAGES": [FRENCH, ENGLISH]},
        staff_language="fr",
        languages={"fr": "en", "en": "en", "ar": "en"},
        offered=(),
    ),
    Setup(
        name="English site without translation",
        special="`USE_I18N` is off.",
        holds="Everything, in English.",
        settings={"USE_I18N": False},
        languages={"en": "en", "ar": "en", "he": "en"},
        offered=(),
    ),
    Setup(
        name="thousand separators",
        special="`USE_THOUSAND_SEPARATOR`, and keys above 1,234.",
        holds="Everything: keys in forms and addresses have no separator.",
        settings={"USE_THOUSAND_SEPARATOR": True},
        first_key=1235,
    ),
    Setup(
        name="language in every address",
        special="All URLs inside `i18n_patterns()`; staff work in Hebrew.",
        holds=(
            "Pages are made with the address of `LANGUAGE_CODE`; the check `payments_pages.W022` "
            "warns, because that language can then never be taken away. A payer is sent to the "
            "result in their own language; whoever opens that address reads it in its language."
        ),
        languages={"en": "en", "ar": "en", "he": "en"},
        urls=f"{URLS}.urls_i18n",
        admin="/he/admin/",
        doors="/en/payments/",
        shop="/en/shop/",
        staff_language="he",
        checks=frozenset({"payments_pages.W022"}),
    ),
    Setup(
        name="language in every address but the default's",
        special="`i18n_patterns(prefix_default_language=False)`; staff work in Arabic.",
        holds="As above: the address has no language in it, until `LANGUAGE_CODE` is changed.",
        urls=f"{URLS}.urls_i18n_but_default",
        admin="/ar/admin/",
        staff_language="ar",
        checks=frozenset({"payments_pages.W022"}),
    ),
)
