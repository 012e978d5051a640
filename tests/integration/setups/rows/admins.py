"""Who signs in, and by which admin."""

from tests.integration.setups.setup import Setup
from tests.support import base_settings

__all__ = ["ROWS"]

APPS = [*base_settings.INSTALLED_APPS, "payments_pages", "tests.support.goods"]
URLS = "tests.integration.setups.project"
NO_ADMIN = frozenset({"sign_in", "make_page", "look_around", "approve", "search", "export", "sync"})

ROWS = (
    Setup(
        name="new project",
        special="Nothing but what the quick start says to add.",
        holds="Everything.",
    ),
    Setup(
        name="own users",
        special="`AUTH_USER_MODEL` with a UUID as key and an e-mail address as login.",
        holds="Everything: the audit trail and the token of a sync name the person by the UUID.",
        settings={
            "INSTALLED_APPS": ["tests.integration.setups.project.people", *APPS],
            "AUTH_USER_MODEL": "people.Person",
        },
        login="staff@example.test",
    ),
    Setup(
        name="two admins",
        special="An `AdminSite` of the site's own beside Django's, our models on both.",
        holds="Every page and link stays on the admin it is opened in.",
        urls=f"{URLS}.urls_two_admins",
        admin="/office/",
    ),
    Setup(
        name="another admin",
        special="Our models on an `AdminSite` of the site's own alone, Django's beside it without them.",
        holds="As with two.",
        urls=f"{URLS}.urls_another_admin",
        admin="/office/",
    ),
    Setup(
        name="replaced admin",
        special="`default_site` names the site's own `AdminSite`, and it is the only one.",
        holds="Everything: `@admin.register` registers there.",
        settings={
            "INSTALLED_APPS": [
                "tests.integration.setups.project.office.OfficeAdminConfig",
                *[app for app in APPS if app != "django.contrib.admin"],
            ]
        },
    ),
    Setup(
        name="no verifications in the admin",
        special="`VerificationAdmin` is unregistered.",
        holds="Everything else; links to verifications are left out.",
        urls=f"{URLS}.urls_no_verifications",
        without=frozenset({"verifications"}),
    ),
    Setup(
        name="no pages in the admin",
        special="`PaymentPageAdmin` is unregistered.",
        holds="Everything else: payments name their page without a link. Pages are mirrored by command.",
        urls=f"{URLS}.urls_no_pages",
        without=frozenset({"make_page", "sync"}),
    ),
    Setup(
        name="no payments in the admin",
        special="`TransactionAdmin` is unregistered.",
        holds="Pages can be managed; sums and the lines of *Needs attention* have no link.",
        urls=f"{URLS}.urls_no_payments",
        without=frozenset({"approve", "search", "export"}),
    ),
    Setup(
        name="no admin",
        special="No admin, no users, no sessions, no messages: `payments_pages` and static files alone.",
        holds="Every door, and the commands.",
        urls=f"{URLS}.urls_no_admin",
        settings={
            "INSTALLED_APPS": [
                "django.contrib.staticfiles",
                "payments_pages",
                "tests.support.goods",
            ],
            "MIDDLEWARE": [
                "django.middleware.security.SecurityMiddleware",
                "django.middleware.locale.LocaleMiddleware",
                "django.middleware.common.CommonMiddleware",
            ],
            "TEMPLATES": [
                {
                    "BACKEND": "django.template.backends.django.DjangoTemplates",
                    "APP_DIRS": True,
                }
            ],
        },
        without=NO_ADMIN,
    ),
)
