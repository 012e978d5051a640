"""Turn what was measured into the tables of docs/speed.md, and hold it against the targets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.callbacks.sites import FLOOR, OURS, RIGHT_FLOOR

__all__ = ["Target", "floor_table", "peer_table", "targets"]

RIVAL, FASTEST = "django-paystack-wallet", "django-payments"

Found = Mapping[str, Mapping[str, Mapping[str, Any]]]

KINDS = (
    ("first callback", "first", "first"),
    ("settled callback", "settled", "query"),
    ("8 duplicates at once", "duplicates", "duplicates"),
    ("result page", "result", "result"),
    ("webhook", "webhook", "webhook"),
)
"""What is shown: ours, and what of the floors it is held against."""


@dataclass(frozen=True, slots=True)
class Target:
    """Be one target on one database: what was aimed at, and what came out."""

    name: str
    aimed: str
    found: str
    met: bool


def rows(head: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Write a table."""
    table = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in table)


def floor_table(found: Found) -> str:
    """Hold ours against both floors, kind by kind."""
    lines = []
    for name, ours, floor in KINDS:
        for site, kind in ((FLOOR, floor), (RIGHT_FLOOR, ours), (OURS, ours)):
            one = found[site].get(kind)
            if one is not None:
                floors = found[FLOOR].get(floor), found[RIGHT_FLOOR].get(ours)
                lines.append([name, site, *_figures(one, *floors)])
    head = ["", "site", "CPU, ms", "× floor", "× right floor", "a second", "p50, ms", "p99, ms"]
    return rows(
        [*head, "statements", "commits", "bytes written", "verify calls", "connections"], lines
    )


def _figures(one: Mapping[str, Any], *floors: Mapping[str, Any] | None) -> list[str]:
    cost = one["cost"]
    ratios = [_ratio(one, floor) for floor in floors]
    return [
        f"{one['cpu'] * 1000:.2f}" if one["cpu"] else "–",
        *(f"{ratio:.2f}" if ratio else "–" for ratio in ratios),
        f"{one['rate']:.0f}",
        f"{one['p50'] * 1000:.0f}",
        f"{one['p99'] * 1000:.0f}",
        *(f"{cost[name]:,.0f}" if cost else "–" for name in ("statements", "commits", "bytes")),
        f"{one['calls']} for {one['requests']}",
        str(one["connections"]),
    ]


def _ratio(one: Mapping[str, Any], floor: Mapping[str, Any] | None) -> float | None:
    """Return how many times the floor's CPU it takes: the median over the rounds."""
    if floor is None or not one["cpu"] or not floor["cpu"]:
        return None
    pairs = zip(one["cpu_rounds"], floor["cpu_rounds"], strict=True)
    ratios = sorted(mine / theirs for mine, theirs in pairs)
    return ratios[len(ratios) // 2]


def peer_table(found: Found, missing: Mapping[str, str]) -> str:
    """Show each peer's speed beside what it has done with it."""
    lines = [_peer(site, kinds) for site, kinds in found.items()]
    lines += [[name, f"not measured: {why}", *["–"] * 8] for name, why in missing.items()]
    head = ["", "first callbacks a second", "CPU, ms", "settled, CPU ms", "webhook, CPU ms"]
    head += ["statements", "60 payments × 8: deliveries", "verify calls", "answers", "verdict"]
    return rows(head, lines)


def _peer(site: str, kinds: Mapping[str, Mapping[str, Any]]) -> list[str]:
    def cpu(kind: str) -> str:
        return f"{kinds[kind]['cpu'] * 1000:.2f}" if kind in kinds else "–"

    first, rush = kinds.get("first"), kinds.get("duplicates")
    if first is None or rush is None:
        return [
            site,
            "–",
            "–",
            "–",
            cpu("webhook"),
            "–",
            "–",
            "–",
            _answers(kinds),
            "webhooks only",
        ]
    return [
        site,
        f"{first['rate']:.0f}",
        cpu("first"),
        cpu("settled"),
        cpu("webhook"),
        f"{first['cost']['statements']:.0f}",
        str(rush["deliveries"]),
        str(rush["calls"]),
        _answers({"duplicates": rush, "first": first}),
        "right" if rush["deliveries"] == rush["payments"] else "**wrong**",
    ]


def _answers(kinds: Mapping[str, Mapping[str, Any]]) -> str:
    counts: dict[str, int] = {}
    for kind in kinds.values():
        for status, count in kind["statuses"].items():
            counts[str(status)] = counts.get(str(status), 0) + count
    return ", ".join(f"{count} × {status}" for status, count in sorted(counts.items()))


def targets(found: Found, client: float | None) -> list[Target]:
    """Hold one database's figures against the targets."""
    ours, floor, right = found[OURS], found[FLOOR], found[RIGHT_FLOOR]
    cost, rush = ours["first"]["cost"], ours["duplicates"]
    handler = 1  # the row that the handler writes
    statements, commits = cost["statements"] - handler, cost["commits"]
    refused = sum(count for status, count in rush["statuses"].items() if not 0 < status < 400)
    result = [
        _at_most("CPU of a first callback", 2.0, _ratio(ours["first"], floor["first"]), "× floor"),
        _at_most(
            "CPU of a first callback",
            1.4,
            _ratio(ours["first"], right["first"]),
            "× right floor",
        ),
        _at_most(
            "CPU of a settled callback",
            1.2,
            _ratio(ours["settled"], floor["query"]),
            "× a bare view with one query",
        ),
        _at_most("CPU of a result page", 1.5, _ratio(ours["result"], floor["result"]), "× floor"),
        Target(
            "the right floor's 60 payments × 8 duplicates",
            "60 deliveries, 60 verify calls",
            f"{right['duplicates']['deliveries']}, {right['duplicates']['calls']}",
            (right["duplicates"]["deliveries"], right["duplicates"]["calls"]) == (60, 60),
        ),
        Target(
            "statements and commits of a first callback, handler aside",
            "≤ 8 and 2",
            f"{statements:.0f} and {commits:.0f}",
            statements <= 8 and commits <= 2,
        ),
        Target(
            "60 payments × 8 duplicates",
            "60 deliveries, 60 verify calls, all answers below 400",
            f"{rush['deliveries']}, {rush['calls']}, {refused} not below 400",
            (rush["deliveries"], rush["calls"], refused) == (60, 60, 0),
        ),
    ]
    for peer, least in ((RIVAL, 3.0), (FASTEST, 1.0)):
        if peer in found:
            times = ours["first"]["rate"] / found[peer]["first"]["rate"]
            found_text = f"{times:.2f} ×"
            result.append(
                Target(
                    f"first callbacks a second, of {peer}'s",
                    f"≥ {least} ×",
                    found_text,
                    times >= least,
                )
            )
    if client is not None:
        result.append(
            _at_most("a client's verify", 1.15, client, "× a bare `Session.get` + `json()`")
        )
    return result


def _at_most(name: str, most: float, ratio: float | None, of: str) -> Target:
    assert ratio is not None
    return Target(f"{name}, {of}", f"≤ {most}", f"{ratio:.2f}", ratio <= most)
