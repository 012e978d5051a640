"""Be a member of staff in front of the admin."""

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from example_project.demo.control import Control
from example_project.demo.history import tell
from example_project.demo.stock import stock
from payments_pages.client import GATES
from payments_pages.sandbox import Sandbox
from tests.acceptance.example.conftest import popup_settings

__all__ = ["choose_action", "furnish", "press_until", "sign_in"]


def furnish(sandbox: Sandbox, settings: Any, folder: Path) -> None:
    """Give the shop its stock and the demo's history, with few ordinary sales."""
    settings.POPUP = popup_settings(sandbox)
    control = Control(sandbox.control_url)
    stock(control)
    tell(control, folder / "history.log", sold=8)
    # In the history the service fails, and this process would go on sparing it.
    GATES.forget()


def sign_in(page: Page, shop: str, name: str = "admin", password: str = "open sesame") -> None:
    """Sign in by the form, in whatever language it is."""
    page.goto(f"{shop}/admin/login/?next=/admin/")
    page.locator("#id_username").fill(name)
    page.locator("#id_password").fill(password)
    page.locator("[type=submit]").click()
    expect(page.locator("#user-tools")).to_be_visible()


def choose_action(page: Page, action: str) -> None:
    """Run an action of a list on the rows that are ticked."""
    page.locator("select[name=action]").select_option(action)
    page.locator(".actions button[type=submit]").click()


def press_until(page: Page, key: str, wanted: str, *, most: int = 120) -> None:
    """Press a key until what has the focus says `wanted`, and see that the focus can be seen."""
    pattern = re.compile(wanted)
    for _press in range(most):
        page.keyboard.press(key)
        text = page.evaluate(
            """() => {
                const it = document.activeElement;
                const label = it.labels && it.labels.length ? it.labels[0].innerText : "";
                return [it.innerText || it.value || "", label, it.ariaLabel || ""].join(" | ");
            }"""
        )
        if pattern.search(text):
            assert _is_seen(page), f"the focus on {text!r} cannot be seen"
            return
    raise AssertionError(f"{most} × {key} do not lead to {wanted!r}")


def _is_seen(page: Page) -> bool:
    """Tell whether the focused element is marked: an outline, or another look than unfocused."""
    return bool(
        page.evaluate(
            """() => {
                const it = document.activeElement;
                const look = () => {
                    const style = getComputedStyle(it);
                    return [style.outlineStyle !== "none" && style.outlineWidth !== "0px",
                            [style.boxShadow, style.borderColor, style.backgroundColor,
                             style.color, style.textDecorationLine].join()];
                };
                const [outlined, focused] = look();
                if (outlined) return true;
                it.blur();
                const [, plain] = look();
                it.focus();
                return focused !== plain;
            }"""
        )
    )
