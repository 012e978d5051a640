"""The sweep that runs as a service outlives its database."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import OperationalError, ProgrammingError, connection

from payments_pages.choices import Outcome
from payments_pages.confirmation import sweep_due
from payments_pages.confirmation.inbox import find, set_page_hint
from payments_pages.management.commands import payments_pages_sweep as command
from payments_pages.models import Fulfilment
from payments_pages.references import reference_key
from tests.reliability.crash.points import BREAKS, Points
from tests.reliability.crash.stories import STORIES, Scene
from tests.support.goods.models import Good

pytestmark = pytest.mark.django_db(transaction=True)


class Twice(command._Stop):
    """Ask to stop after the second sweep."""

    sweeps = 0

    def on_signals(self) -> None:
        """Leave the signals to the test runner."""

    def sleep(self, seconds: float) -> None:
        self.sweeps += 1
        self.asked = self.sweeps == 2


@pytest.mark.parametrize("side", BREAKS)
def test_watch_goes_on_after_the_database_was_away(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    monkeypatch.setattr(command, "_Stop", Twice)
    STORIES["a failed delivery, by the sweep"].before(scene, "PPG-1")
    with Points(1, BREAKS[side]).watch():
        call_command("payments_pages_sweep", watch=True, interval=1)
    assert Fulfilment.objects.get().state == "delivered"
    assert Good.objects.count() == 1


def test_watch_ends_with_an_error_that_time_does_not_heal(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing table is a fault of the installation: somebody must see it."""
    monkeypatch.setattr(command, "_Stop", Twice)

    def fail(step: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM no_such_table")

    with (
        Points(1, fail).watch(),
        pytest.raises((ProgrammingError, OperationalError), match="no_such_table"),
    ):
        call_command("payments_pages_sweep", watch=True, interval=1)


def test_a_claim_that_was_noted_and_not_acted_upon_is_taken_by_the_sweep(scene: Scene) -> None:
    """Killed between noting the page and deciding again: the payer need not come a second time."""
    STORIES["the payer lifts a hold"].before(scene, "PPG-2")
    assert sweep_due().taken == 0, "nothing says what it is for"
    row = find(reference_key("PPG-2"))
    assert row is not None
    set_page_hint(row, scene.page.token)
    assert sweep_due().outcomes == {Outcome.DELIVERED: 1}
    assert sweep_due().taken == 0
    assert Good.objects.count() == 1
