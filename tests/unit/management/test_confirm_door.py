"""The command: staff, or cron, name a reference."""

import io

from django.core.management import CommandError, call_command

from tests.support.door_behaviour import Answer, Meaning, OutsideDoorBehaviour

OUTCOMES = {
    "delivered": Meaning.GIVEN,
    "already_delivered": Meaning.GIVEN,
    "delivering": Meaning.WAIT,
    "delivery_failed": Meaning.WAIT,
    "pending": Meaning.WAIT,
    "held": Meaning.HELD,
    "not_paid": Meaning.NOT_PAID,
    "unknown": Meaning.UNKNOWN,
    "invalid": Meaning.INVALID,
    "unavailable": Meaning.LATER,
}


class TestCommandDoor(OutsideDoorBehaviour):
    def send(self, reference: str) -> Answer:
        out = io.StringIO()
        try:
            call_command("payments_pages_confirm", reference, stdout=out)
        except CommandError as error:
            return Answer(1, f"{out.getvalue()}{error}")
        return Answer(0, out.getvalue())

    def meaning(self, answer: Answer) -> Meaning:
        count, outcome = answer.text.rsplit(": ", 1)[1].strip().rstrip(".").split()
        assert count == "1"
        meaning = OUTCOMES[outcome]
        assert answer.status == (0 if meaning is Meaning.GIVEN else 1)
        return meaning
