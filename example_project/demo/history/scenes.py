"""Put what happened into the order of its days: the list of payments is in the order of arrival."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["Scene", "play"]


@dataclass(frozen=True, slots=True)
class Scene:
    """Be something that happened so many days ago; `act` lets it happen, once."""

    days_ago: float
    act: Callable[[], object]


def play(scenes: Iterable[Scene]) -> None:
    """Let everything happen, the oldest first."""
    for scene in sorted(scenes, key=lambda scene: -scene.days_ago):
        scene.act()
