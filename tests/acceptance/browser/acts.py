"""Get to the screens of the demo that are only seen when something has been done.

For the pictures of the docs, and for the tests that look at every screen.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.urls import reverse
from playwright.sync_api import Page, Route

from example_project.demo.control import Control
from example_project.demo.screens import Screen

__all__ = ["Acts", "Shot", "leave", "opened"]


@dataclass(frozen=True, slots=True)
class Shot:
    """Be one screen to look at: its name, and how a browser that is signed in gets there."""

    name: str
    arrive: Callable[[Page], object]


def opened(address: str) -> Callable[[Page], object]:
    """Return what opens an address."""
    return lambda page: page.goto(address)


def leave(page: Page) -> None:
    """Go away from the last screen: a script of it that still waits must not come in between."""
    page.goto("about:blank")
    page.unroute_all(behavior="ignoreErrors")


class Acts:
    """Get to what is only seen when something has been done."""

    def __init__(self, site: str, control: Control, screens: Iterable[Screen]) -> None:
        self._control = control
        self._site = site
        self._urls = {screen.name: site + screen.path for screen in screens}
        self._changes = 0

    def shots(self) -> list[Shot]:
        """Return them; each leaves the shop as it was, or nearly so."""
        return [
            Shot("page-stale", self._save_what_was_changed_elsewhere),
            Shot("sync", self._sync_half),
            Shot("deactivate", lambda page: self._choose(page, "deactivate_pages", 1, 2)),
            Shot("activated", lambda page: self._choose(page, "activate_pages", -1, 0)),
            Shot("rejecting", self._reject_two),
            Shot("cards-forget", self._forget_a_card),
            Shot("verified-by-hand", self._verify_what_is_down),
            Shot("page-refused", self._type_nonsense),
            Shot("site-index", opened(self._site + reverse("admin:index"))),
        ]

    def _save_what_was_changed_elsewhere(self, page: Page) -> None:
        self._changes += 1
        page.goto(self._urls["page-second"])
        self._control.post(
            "pages/oud-evening", description=f"One seat, Thursday at {self._changes + 4}."
        )
        page.locator("#id_description").fill("One seat, Thursday at nine.")
        _press(page, "[name=_save]")

    def _sync_half(self, page: Page) -> None:
        """Let the service list two pages at a time, and stop the script after the first step."""
        self._control.post("account", max_per_page=2)
        page.goto(self._urls["pages"])
        page.route("**/sync/", _leave_scripts_waiting)
        _press(page, "form[action$='/sync/'] button")
        page.locator("progress").wait_for()
        self._control.post("account", max_per_page=None)

    def _choose(self, page: Page, action: str, *rows: int) -> None:
        page.goto(self._urls["pages"])
        for row in rows:
            page.locator("input.action-select").nth(row).check()
        page.locator("select[name=action]").select_option(action)
        _press(page, ".actions button[type=submit]")

    def _reject_two(self, page: Page) -> None:
        page.goto(self._urls["payments-held"])
        for row in (0, 1):
            page.locator("input.action-select").nth(row).check()
        page.locator("select[name=action]").select_option("reject_held")
        _press(page, ".actions button[type=submit]")

    def _forget_a_card(self, page: Page) -> None:
        page.goto(self._urls["cards"])
        page.locator("input.action-select").first.check()
        page.locator("select[name=action]").select_option("forget_selected")
        _press(page, ".actions button[type=submit]")

    def _verify_what_is_down(self, page: Page) -> None:
        page.goto(self._urls["verify-by-hand"])
        page.locator("#id_reference").fill("demo-service-down")
        _press(page, ".submit-row [type=submit]")

    def _type_nonsense(self, page: Page) -> None:
        page.goto(self._urls["page-add"])
        page.locator("#id_name").fill("Olive oil")
        page.locator("#id_amount").fill("120,50")
        page.locator("#id_slug").fill("photo-archive")
        _press(page, "[name=_save]")


def _press(page: Page, button: str) -> None:
    """Press a button and wait for the page that it leads to."""
    with page.expect_navigation():
        page.locator(button).click()


def _leave_scripts_waiting(route: Route) -> None:
    if route.request.is_navigation_request():
        route.continue_()
