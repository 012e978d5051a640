"""Read the history of a run and say what was lost and what was doubled."""

from collections import Counter
from collections.abc import Iterable, Mapping

from payments_pages.choices import EventKind, FulfilmentState, VerificationState
from payments_pages.models import Event, Fulfilment, Verification
from payments_pages.references import reference_key
from tests.reliability.torture.effects.models import Change, Effect
from tests.reliability.torture.findings import Findings
from tests.reliability.torture.handlers import begins, outside
from tests.reliability.torture.notices import signed
from tests.reliability.torture.plan import Fate, Payment

__all__ = ["check", "check_control"]

GIVEN = {"delivered", "already_delivered"}
UNCONFIRMED = {"pending", "not_paid", "unknown"}
GIVEN_UP = {VerificationState.UNKNOWN, VerificationState.LAPSED}
MAY_FOLLOW_SUCCESS = {"success", "reversed"}


def check(payments: Iterable[Payment], handler: str) -> Findings:
    """Compare the history of the package's own path with its promises."""
    effects = _inside() if handler == "atomic" else _outside()
    found = Findings(delivered=len(effects))
    _read_trace(found, effects)
    rows = {
        row.transaction.reference: row for row in Fulfilment.objects.select_related("transaction")
    }
    accepted = _accepted()
    fates = {made.reference: made.fate for made in payments}
    found.references = len(fates)
    found.accepted = len(accepted)
    for reference, fate in fates.items():
        row = rows.get(reference)
        delivered = row is not None and row.state == FulfilmentState.DELIVERED
        wanted = fate == Fate.MUST or (row is not None and row.reference_key in accepted)
        if fate == Fate.MAY and not delivered:
            wanted = False
        if delivered and reference not in effects:
            found.lost[reference] = "marked, and nothing was given"
        elif wanted and not (delivered and reference in effects):
            found.lost[reference] = f"wanted, and it is {row.state if row else 'unknown'}"
        if reference in effects:
            _check_delivery(found, reference, fate, row, accepted)
    found.broken += [f"{reference}: given, and never paid" for reference in effects.keys() - fates]
    _count_doubles(found, effects if handler == "atomic" else {})
    _check_keys(found, effects, rows)
    _check_changes(found, {reference_key(reference): reference for reference in fates})
    _check_notices(found)
    return found


def check_control(payments: Iterable[Payment]) -> Findings:
    """Count what a wrong way lost and doubled, only from what it did itself."""
    effects = _inside()
    found = Findings(delivered=len(effects))
    _read_trace(found, effects)
    fates = {made.reference: made.fate for made in payments}
    found.references = len(fates)
    for reference, fate in fates.items():
        if fate == Fate.MUST and reference not in effects:
            found.lost[reference] = "wanted, and nothing was given"
    _count_doubles(found, effects)
    return found


Runs = Mapping[str, list[tuple[str, int]]]
"""By reference: the key and attempt of each time that the value was given."""


def _inside() -> Runs:
    runs: dict[str, list[tuple[str, int]]] = {}
    for reference, key, attempt in Effect.objects.values_list("reference", "key", "attempt"):
        runs.setdefault(reference, []).append((key, attempt))
    return runs


def _outside() -> Runs:
    runs: dict[str, list[tuple[str, int]]] = {}
    for reference, key, attempt in outside.lines():
        runs.setdefault(reference, []).append((key, int(attempt)))
    return runs


def _accepted() -> set[str]:
    kinds = [EventKind.ACCEPTED, EventKind.APPROVED]
    return set(Event.objects.filter(kind__in=kinds).values_list("reference_key", flat=True))


def _read_trace(found: Findings, effects: Runs) -> None:
    """Count what the workers recorded, and check that each answer was true."""
    begun: Counter[tuple[str, int]] = Counter()
    for kind, *words in begins.lines():
        if kind == "begin":
            begun[words[0], int(words[1])] += 1
        elif kind == "raise":
            begun[words[0], int(words[1])] -= 1
        elif kind == "fenced":
            found.fenced += 1
        elif kind == "hung_up":
            found.hung_up += 1
        elif kind == "error":
            found.count_error(words[0], " ".join(words[1:]))
        elif kind == "told":
            found.calls += 1
            if words[1] in GIVEN and words[0] not in effects:
                found.lost[words[0]] = "told as delivered, and nothing was given"
    given: Counter[tuple[str, int]] = Counter()
    for reference, runs in effects.items():
        given.update((reference, attempt) for _key, attempt in runs)
    found.cut_off = (begun - given).total()


def _check_delivery(
    found: Findings, reference: str, fate: str, row: Fulfilment | None, accepted: set[str]
) -> None:
    if fate == Fate.NEVER:
        found.broken.append(f"{reference}: a mismatch was delivered")
    if row is None or row.reference_key not in accepted:
        found.broken.append(f"{reference}: delivered, and never accepted")
    elif row.state != FulfilmentState.DELIVERED:
        found.broken.append(f"{reference}: given, and yet {row.state}")


def _count_doubles(found: Findings, effects: Runs) -> None:
    for reference, runs in effects.items():
        if len(runs) > 1:
            found.doubled[reference] = f"given {len(runs)} times"


def _check_keys(found: Findings, effects: Runs, rows: Mapping[str, Fulfilment]) -> None:
    """Count what an external handler repeated: it may, always with the fulfilment's own key."""
    for reference, runs in effects.items():
        found.repeated += len(runs) - 1
        keys = {key for key, _attempt in runs}
        if len(keys) > 1:
            found.doubled[reference] = f"given under {len(keys)} keys"
        elif (row := rows.get(reference)) and keys != {str(row.idempotency_key)}:
            found.broken.append(f"{reference}: given under a foreign key")


def _check_notices(found: Findings) -> None:
    """Count the references from signed notices; none of them may stay given up."""
    answers: dict[str, set[str]] = {}
    for reference, outcome in signed():
        answers.setdefault(reference, set()).add(outcome)
    found.signed = len(answers)
    found.early = sum(not outcomes.isdisjoint(UNCONFIRMED) for outcomes in answers.values())
    given_up = Verification.objects.filter(state__in=GIVEN_UP, reference__in=answers)
    for reference, state in given_up.values_list("reference", "state"):
        found.broken.append(f"{reference}: named by a signed notice, and {state}")


def _check_changes(found: Findings, names: Mapping[str, str]) -> None:
    """Check every change of a row against the rules; `names` are the references by their keys."""
    born: set[tuple[str, str]] = set()
    latest: dict[str, Change] = {}
    for change in Change.objects.order_by("pk").iterator():
        row = (change.kind, change.reference_key)
        before = latest.get(change.reference_key)
        if wrong := _wrong_with(change, before, born_before=row in born):
            name = names.get(change.reference_key, change.reference_key)
            found.broken.append(f"{name}: {wrong}: {change}")
        born.add(row)
        latest[change.reference_key] = change


def _wrong_with(change: Change, before: Change | None, *, born_before: bool) -> str:
    """Return the rule that a change broke, or nothing; `before` is the last one of the reference.

    Rows come once and stay; attempts only rise; a delivered row is never written again, and comes
    as delivered only with its payment, at the first attempt; a success is only ever reversed.
    """
    if change.deed == "DELETE":
        return "it was deleted"
    if change.deed == "INSERT":
        if born_before:
            return "it came again"
        delivered = change.state_after == FulfilmentState.DELIVERED
        with_payment = before is not None and (before.kind, before.deed) == (
            "transaction",
            "INSERT",
        )
        in_the_record = with_payment and change.attempts_after == 1
        return "born delivered" if delivered and not in_the_record else ""
    return _wrong_with_update(change)


def _wrong_with_update(change: Change) -> str:
    delivered = FulfilmentState.DELIVERED
    if change.attempts_after < change.attempts_before:
        return "attempts fell"
    if change.kind == "fulfilment" and change.state_before == delivered:
        return "it left delivered" if change.state_after != delivered else "delivered once more"
    if change.kind == "transaction" and change.state_before == "success":
        return "" if change.state_after in MAY_FOLLOW_SUCCESS else "a success was taken back"
    return ""
