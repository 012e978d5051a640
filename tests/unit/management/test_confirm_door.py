"""The command: staff, or cron, name a reference."""

import io

from django.core.management import CommandError, call_command

from tests.support.door_behaviour import Answer, Meaning, OutsideDoorBehaviour

OUTCOMES = {
    "delivered now": Meaning.GIVEN,
    "delivered before": Meaning.GIVEN,
    "being delivered by another caller": Meaning.WAIT,
    "paid; the delivery will be tried again": Meaning.WAIT,
    "not paid yet": Meaning.WAIT,
    "paid; held for staff": Meaning.HELD,
    "not paid": Meaning.NOT_PAID,
    "unknown to the service": Meaning.UNKNOWN,
    "no valid reference": Meaning.INVALID,
    "cannot be confirmed right now": Meaning.LATER,
}


class TestCommandDoor(OutsideDoorBehaviour):
    def send(self, reference: str) -> Answer:
        out = io.StringIO()
        try:
            call_command("payments_pages_confirm", reference, stdout=out)
        except CommandError:
            return Answer(1, out.getvalue())
        return Answer(0, out.getvalue())

    def meaning(self, answer: Answer) -> Meaning:
        line, summary = answer.text.splitlines()
        outcome = next(words for words in OUTCOMES if f": {words}:" in f"{line}:")
        meaning = OUTCOMES[outcome]
        assert answer.status == (0 if meaning is Meaning.GIVEN else 1)
        assert summary == f"{1 - answer.status} of 1 delivered."
        return meaning
