"""What a process does before it is killed: one act, watched."""

from typing import Any

from django.db import connection, connections

from tests.reliability.crash.points import KILLS, Points
from tests.reliability.crash.stories import ACTS

__all__ = ["run"]


def run(job: dict[str, Any]) -> list[dict[str, Any]]:
    """Do an act, and die at its n-th point, on one side of it; who outlives it tells the points and the outcome."""
    connection.ensure_connection()
    points = Points(job["at"], KILLS[job["side"]])
    with points.watch():
        outcome = ACTS[job["act"]](job["reference"], job["token"])
    connections.close_all()
    return [{"outcome": outcome, "points": points.seen}]
