"""What shall go wrong, and for which calls.

Kinds that only wait, and let the next fault shape the answer (the work is done before the
wait, so that the answer may be out of date when it comes):

    latency          seconds=1.0
    barrier          count=2, seconds=10.0: hold answers until `count` of them wait
    run              function: call it (from Python only), as if it happened meanwhile

Kinds that answer without doing any work:

    status           status=500, body=None, headers={}: JSON, or the usual error envelope
    html             status=502, text="…", headers={}
    raw              status=200, body=b"", content_type="application/json", headers={}
    empty            status=200: no body at all, called JSON
    hang             seconds=60.0: send nothing, then close
    drop             after="nothing" or "headers", reset=False: close the connection

Kinds that do the work and spoil the answer:

    truncated        length=None: the first bytes of the answer, by default half of them
    drip             seconds=0.5, part="headers" or "body": a byte at a time from there on
    redirect         location="…", status=302: the answer itself is the body
    wrong_reference  other="OTHER-1": a success, for another reference
    patch            data={}, envelope={}, remove=[]: merged into `data` (each item of a
                     list) and into the envelope; `...` as a value removes the key, too
    status_sequence  statuses=["pending", "success"]: one after the other, the last repeats
    answer_lost      the work is done, the connection closed
"""

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, NoneType
from typing import Any

__all__ = ["KINDS", "OPERATIONS", "Fault", "Faults", "Plan"]

OPERATIONS = ("create", "list", "fetch", "update", "check_slug", "verify")

KINDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "latency": {"seconds": 1.0},
        "barrier": {"count": 2, "seconds": 10.0},
        "run": {"function": None},
        "status": {"status": 500, "body": None, "headers": {}},
        "html": {
            "status": 502,
            "text": "<html><title>502 Bad Gateway</title></html>",
            "headers": {},
        },
        "raw": {"status": 200, "body": b"", "content_type": "application/json", "headers": {}},
        "empty": {"status": 200},
        "hang": {"seconds": 60.0},
        "drop": {"after": "nothing", "reset": False},
        "truncated": {"length": None},
        "drip": {"seconds": 0.5, "part": "headers"},
        "redirect": {"location": "http://elsewhere.invalid/", "status": 302},
        "wrong_reference": {"other": "OTHER-1"},
        "patch": {"data": {}, "envelope": {}, "remove": []},
        "status_sequence": {"statuses": ["pending", "success"]},
        "answer_lost": {},
    }
)
"""The kinds, with the options of each and their defaults."""

WAITING = frozenset({"latency", "barrier", "run"})
_TYPES: Mapping[str, tuple[type, ...]] = {
    "seconds": (int, float),
    "count": (int,),
    "status": (int,),
    "headers": (dict,),
    "text": (str,),
    "content_type": (str,),
    "length": (int, NoneType),
    "location": (str,),
    "other": (str,),
    "data": (dict,),
    "envelope": (dict,),
    "remove": (list, tuple),
    "statuses": (list, tuple),
}
_CHOICES = {"after": ("nothing", "headers"), "part": ("headers", "body")}


@dataclass(slots=True, kw_only=True, eq=False)
class Fault:
    """A declared fault. `used` counts the answers it had a part in."""

    kind: str
    operation: str | None = None
    reference: str | None = None
    times: int | None = None
    skip: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    used: int = 0
    steps: Counter[str] = field(default_factory=Counter, repr=False)
    barrier: threading.Barrier | None = field(default=None, repr=False)

    def matches(self, operation: str, key: str) -> bool:
        """Say whether a call of this operation on this reference, slug or id is meant."""
        return (
            (self.operation is None or self.operation == operation)
            and (self.reference is None or self.reference == key)
            and (self.times is None or self.used < self.times)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The faults of one answer: the one that shapes it, and those that it waits for before.

    `step` is how many answers the shaping fault gave for the same key earlier on.
    """

    shape: Fault | None = None
    step: int = 0
    waits: tuple[Fault, ...] = ()


class Faults:
    """The declared faults, in the order in which they are used up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def add(
        self,
        *,
        kind: str,
        operation: str | None = None,
        reference: str | None = None,
        times: int | None = None,
        skip: int = 0,
        **options: Any,
    ) -> Fault:
        """Declare a fault for one operation, one reference (or slug, or id), or at large.

        `times` is how many answers it spoils, None is for ever; the first `skip` matching
        calls are let by. For each call the waiting
        faults that match are gathered until the first one that shapes the answer, which ends
        the search. Raise `ValueError` for a kind, operation or option that does not exist.
        """
        fault = Fault(
            kind=kind,
            operation=operation,
            reference=reference,
            times=times,
            skip=skip,
            options=_checked_options(kind, options),
        )
        if operation is not None and operation not in OPERATIONS:
            raise ValueError(f"No operation {operation!r}; there are {', '.join(OPERATIONS)}.")
        if times is not None and (type(times) is not int or times < 1):
            raise ValueError("times is a whole number above 0, or None for ever.")
        if type(skip) is not int or skip < 0:
            raise ValueError("skip is a whole number.")
        if kind == "barrier":
            fault.barrier = threading.Barrier(fault.options["count"])
        with self._lock:
            self._faults.append(fault)
        return fault

    def take(self, operation: str, key: str) -> Plan:
        """Find what happens to the next answer of this call, and count it."""
        if not self._faults:
            return NO_FAULT
        waits: list[Fault] = []
        with self._lock:
            for fault in self._faults:
                if not fault.matches(operation, key):
                    continue
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.used += 1
                if fault.kind in WAITING:
                    waits.append(fault)
                    continue
                fault.steps[key] += 1
                return Plan(shape=fault, step=fault.steps[key] - 1, waits=tuple(waits))
        return Plan(waits=tuple(waits))

    def active(self) -> list[Fault]:
        """List the faults that are not used up."""
        with self._lock:
            return [f for f in self._faults if f.times is None or f.used < f.times]

    def clear(self) -> None:
        """Take all faults back, and let go who waits at a barrier."""
        with self._lock:
            faults, self._faults = self._faults, []
        for fault in faults:
            if fault.barrier is not None:
                fault.barrier.abort()


NO_FAULT = Plan()


def _checked_options(kind: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
    if kind not in KINDS:
        raise ValueError(f"No fault {kind!r}; there are {', '.join(KINDS)}.")
    defaults = KINDS[kind]
    for name, value in options.items():
        if name not in defaults:
            known = ", ".join(defaults) or "none"
            raise ValueError(f"{kind} has no option {name!r}; its options: {known}.")
        if not isinstance(value, _TYPES.get(name, (object,))):
            raise ValueError(f"{name} has the wrong type.")  # noqa: TRY004 - one type for all
        if name in _CHOICES and value not in _CHOICES[name]:
            raise ValueError(f"{name} is one of {', '.join(_CHOICES[name])}.")
    if not options.get("statuses", True):
        raise ValueError("statuses needs at least one status.")
    if kind == "run" and not callable(options.get("function")):
        raise ValueError("run needs a function, and so works from Python only.")
    return {**defaults, **options}
