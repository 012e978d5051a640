"""Break every run at each of its points in turn; after the sweep all is right."""

import signal

import pytest
from django.db import Error, connection

from payments_pages.choices import EventKind, FulfilmentState, Outcome
from payments_pages.confirmation import sweep_due
from payments_pages.db import is_transient
from payments_pages.exceptions import DecisionError
from payments_pages.models import Event, Fulfilment, Transaction, Verification
from payments_pages.testing import let_time_pass
from tests.reliability.crash.points import BREAKS, KILLS, Points
from tests.reliability.crash.stories import ACTS, HOUR, STORIES, Scene, Story
from tests.reliability.races.worker import Worker
from tests.support.goods.models import Good
from tests.support.scale import chosen

pytestmark = [pytest.mark.race, pytest.mark.django_db(transaction=True)]

MOST_POINTS = 60
MAY_RAISE = {"sweep", "on commit", "approve", "attribute", "reject", "retry"}
"""Acts with further statements beside the path's. If one of these fails, the caller gets the error."""
GIVEN = {Outcome.DELIVERED, Outcome.ALREADY_DELIVERED}

both_kinds = pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=[pytest.mark.slow] if kind == "external" else [])
        for kind in ("atomic", "external")
        for name, story in STORIES.items()
        if kind == "atomic" or story.delivers
    ],
)
"""Both kinds of handler, where the story comes as far as one. Both kinds share the path up to it."""


def finish(scene: Scene, reference: str) -> None:
    """Let the sweep do the rest; only what nobody ever noted needs its payer again."""
    if not Verification.objects.filter(reference=reference).exists():
        ACTS["callback"](reference, str(scene.page.token))
    for _round in range(4):
        let_time_pass(12 * HOUR)
        report = sweep_due()
        assert report.errors == 0
        if not report.taken:
            return
    pytest.fail("something is left to do")


def judge(reference: str, story: Story, kind: str, where: str) -> None:
    """One delivery; of an external handler at least one run, all with one key."""
    row = Fulfilment.objects.get(transaction__reference=reference)
    keys = list(Good.objects.filter(reference=reference).values_list("key", flat=True))
    ends = story.ends if story.noted(reference) else story.otherwise
    assert row.state == ends, where
    if ends != FulfilmentState.DELIVERED:
        assert keys == [], where
        return
    assert set(keys) == {row.idempotency_key}, where
    if kind == "atomic":
        assert len(keys) == 1, where
    delivered = Event.objects.filter(reference_key=row.reference_key, kind=EventKind.DELIVERED)
    assert delivered.count() == 1, where
    # A refresh that died before it claimed the question is the sender's to repeat.
    asked_again = Verification.objects.get(reference=reference).attempts > 1
    reversed_since = story.act == "refresh" and asked_again
    status = Transaction.objects.get(reference=reference).status
    assert status == ("reversed" if reversed_since else "success"), where


def believe(outcome: Outcome | None, reference: str, where: str) -> None:
    """Nobody gets the answer "delivered" if it is not delivered."""
    if outcome in GIVEN:
        row = Fulfilment.objects.get(transaction__reference=reference)
        assert row.state == FulfilmentState.DELIVERED, where
        assert Good.objects.filter(reference=reference).exists(), where


@both_kinds
# Usually the harder side alone: the statement took effect, and its sender does not know.
@pytest.mark.parametrize("side", chosen(tuple(BREAKS), "after"))
def test_the_line_to_the_database_is_lost_at_any_point(
    scene: Scene, kind: str, name: str, side: str
) -> None:
    """Before the statement or commit took effect, or after it did and before we knew."""
    story = STORIES[name]
    scene.configure(HANDLER_ATOMIC=kind == "atomic")
    for number in range(1, MOST_POINTS):
        reference = f"LOST-{number}"
        points = _prepared(scene, story, reference, Points(number, BREAKS[side]))
        outcome = _act(story, reference, scene, points)
        where = f"{side} point {number} of {points.seen}"
        believe(outcome, reference, where)
        finish(scene, reference)
        judge(reference, story, kind, where)
        if not points.hit:
            assert outcome == story.told
            break
    assert story.least <= len(points.seen) < number < MOST_POINTS


@both_kinds
# Killed before a statement, all is as when killed after the one before it.
@pytest.mark.parametrize("side", chosen(tuple(KILLS), "after"))
def test_the_process_is_killed_at_any_point(
    scene: Scene, mortal: Worker, kind: str, name: str, side: str
) -> None:
    """Before the statement or commit, or after it: the last one's effect is then there too."""
    story = STORIES[name]
    scene.configure(HANDLER_ATOMIC=kind == "atomic")
    for number in range(1, MOST_POINTS):
        reference = f"KILLED-{number}"
        _prepared(scene, story, reference, Points())
        answer = mortal.run(
            act=story.act, reference=reference, token=str(scene.page.token), at=number, side=side
        )
        where = f"killed {side} point {number}: {answer}"
        assert answer["killed"] in {0, signal.SIGKILL}, where
        finish(scene, reference)
        judge(reference, story, kind, where)
        if not answer["killed"]:
            assert answer["rows"][0]["outcome"] == story.told
            break
    assert story.least <= len(answer["rows"][0]["points"]) < number < MOST_POINTS


def _act(story: Story, reference: str, scene: Scene, points: Points) -> Outcome | None:
    """Do the act, broken; the path itself never lets a passing error out."""
    try:
        with points.watch():
            return ACTS[story.act](reference, str(scene.page.token))
    except DecisionError:
        return None  # staff are told that the service could not be asked, and nothing was done
    except Error as error:
        if story.act not in MAY_RAISE or not is_transient(error):
            raise
        return None
    finally:
        if connection.vendor != "sqlite":
            connection.close()  # as at the end of a request; there is no line to a file


def _prepared(scene: Scene, story: Story, reference: str, points: Points) -> Points:
    story.before(scene, reference)
    scene.configure(**{"HANDLER": "tests.support.goods.handlers.give"} | dict(story.settings))
    return points
