"""The code of a card is told nowhere but by `authorization_code()`."""

import copy
import dataclasses
import logging
import pickle
import pprint
import sys
from collections.abc import Iterator
from io import StringIO
from types import FrameType, TracebackType
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.views.debug import ExceptionReporter

from payments_pages import testing
from payments_pages.card_codes import CardCode
from payments_pages.client import TransactionResource
from payments_pages.encryption import decrypt_code, encrypt_code
from payments_pages.exceptions import UnusableCardKeys
from payments_pages.models import Fulfilment, PaymentPage, SavedCard, Transaction
from payments_pages.sandbox import Sandbox
from tests.support.leak_detector import Watch
from tests.unit.cards.conftest import CODE, NOOR, Pay, card, new_key

pytestmark = pytest.mark.django_db(transaction=True)

STACKS: list[str] = []
"""What an error tracker would have seen, at each point where merchants' code runs."""


@pytest.fixture(autouse=True)
def _nothing_seen() -> None:
    STACKS.clear()


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Listen to everything that anybody logs, at DEBUG."""
    found, root = Watch(), logging.getLogger()
    level = root.level
    root.setLevel(logging.DEBUG)
    root.addHandler(found.listener)
    yield found
    root.removeHandler(found.listener)
    root.setLevel(level)


def is_ours(frame: FrameType) -> bool:
    """Leave out the tests and the sandbox, which know the code, and what runs the tests."""
    name = frame.f_code.co_filename
    ours = ("/payments_pages/", "/django/", "/cryptography/", "/requests/", "/urllib3/")
    knowing = ("/sandbox/", "/testing/", "/tests/")
    return any(part in name for part in ours) and not any(part in name for part in knowing)


def variables_of(frames: Iterator[FrameType]) -> str:
    """All variables of these frames, as error trackers write them."""
    parts = []
    for frame in frames:
        if is_ours(frame):
            for value in frame.f_locals.values():
                parts += [repr(value), pprint.pformat(value), repr(getattr(value, "__dict__", ""))]
    return "\n".join(parts)


def of_stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def of_error(error: BaseException | None) -> Iterator[FrameType]:
    """The frames of an error, of its cause and of its context."""
    while error is not None:
        trace: TracebackType | None = error.__traceback__
        while trace is not None:
            yield trace.tb_frame
            trace = trace.tb_next
        error = error.__cause__ or error.__context__


def look(transaction: Transaction) -> User:
    STACKS.append(variables_of(of_stack(sys._getframe())))
    return User.objects.get(username=transaction.customer_email)


def look_and_fail(transaction: Transaction) -> User:
    look(transaction)
    raise RuntimeError("no")


def look_from_handler(fulfilment: Fulfilment) -> None:
    STACKS.append(variables_of(of_stack(sys._getframe())))
    raise RuntimeError("no stock")


@pytest.mark.parametrize("owner", ["look", "look_and_fail"])
@pytest.mark.parametrize(
    "handler", ["tests.support.goods.handlers.give", f"{__name__}.look_from_handler"]
)
def test_no_frame_below_merchants_code_has_the_code(
    noor: User, pay: Pay, configure: Any, watch: Watch, owner: str, handler: str
) -> None:
    configure(SAVE_CARD=f"{__name__}.{owner}", HANDLER=handler)
    pay()
    assert STACKS
    assert [stack for stack in STACKS if "LEAKCODE" in stack] == []
    assert "TransactionResource(" in "".join(STACKS), "the control: the answer was looked at"
    assert watch.leaks() == []


def test_what_staff_and_files_are_given_has_no_code(
    noor: User, pay: Pay, watch: Watch, sandbox: Sandbox, tea_box: PaymentPage
) -> None:
    reference = pay()
    # The service repeats it where it does not belong.
    testing.pay(
        sandbox, tea_box, email=NOOR, message=f"card {CODE}", gateway_response=CODE,
        authorization=card(), metadata={"note": CODE}, log={"history": [{"message": CODE}]},
    )  # fmt: skip
    saved = SavedCard.objects.get()
    client = Client()
    client.force_login(User.objects.create_superuser("staff"))
    payment, cards = Transaction.objects.get(reference=reference), "admin:payments_pages_savedcard"
    pages = [
        reverse(f"{cards}_changelist"),
        reverse(f"{cards}_change", args=[saved.pk]),
        reverse(f"{cards}_history", args=[saved.pk]),
        reverse("admin:payments_pages_transaction_change", args=[payment.pk]),
        reverse("admin:payments_pages_transaction_changelist"),
        reverse("payments_pages:result", args=[payment.token]),
    ]
    for page in pages:
        watch.answer(client.get(page))
    export = client.post(reverse("admin:payments_pages_transaction_export"))
    watch.hear("export", b"".join(export.streaming_content).decode())
    for more in ({}, {"confirmed": "yes"}):
        data = {"action": "forget_selected", "_selected_action": saved.pk, **more}
        told = watch.answer(client.post(reverse(f"{cards}_changelist"), data))
        out = StringIO()
        call_command("dumpdata", stdout=out)
        watch.hear("dumpdata", out.getvalue())
        assert told.status_code == (302 if more else 200)
    watch.answer(client.get(reverse("admin:index")))
    watch.look_round()
    assert not SavedCard.objects.exists()
    assert "4081" in repr(watch.told), "the control: pages were looked at"
    assert watch.leaks() == []


def test_a_card_shows_no_code(noor: User, pay: Pay) -> None:
    pay()
    saved = SavedCard.objects.get()
    told = f"{saved} {saved!r} {pprint.pformat(vars(saved))} {pprint.pformat(saved)}"
    assert "LEAKCODE" not in told


def test_an_answer_shows_no_code() -> None:
    resource = TransactionResource.from_payload(
        {"reference": "A-1", "status": "success", "authorization": card()}
    )
    assert resource.card_code is not None
    assert resource.card_code.reveal() == CODE
    fields = dataclasses.asdict(resource)
    told = f"{resource!r} {resource} {pprint.pformat(resource)} {pprint.pformat(fields)}"
    assert "LEAKCODE" not in told
    assert resource.in_ascii().card_code == resource.card_code


def test_a_hidden_code_stays_hidden() -> None:
    code = CardCode(CODE)
    told = f"{code} {code!r} {[code]} {pprint.pformat({'code': code})}"
    assert "LEAKCODE" not in told
    assert not hasattr(code, "__dict__")
    assert copy.copy(code) is copy.deepcopy(code) is code
    assert code == CardCode(CODE) != CardCode("other")
    assert hash(code) == hash(CardCode(CODE))
    assert code != CODE
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        with pytest.raises(TypeError):
            pickle.dumps(code, protocol)


WRONG: list[Any] = [None, ["LEAKME" * 7], [new_key(), "LEAKME"], lambda: {}["LEAKME"], [new_key()]]


@pytest.mark.parametrize("keys", WRONG, ids=["none", "malformed", "second", "vault", "lost"])
def test_an_error_has_neither_code_nor_key(configure: Any, keys: Any) -> None:
    first = new_key()
    configure(CARD_KEYS=[first])
    encrypted = encrypt_code(CardCode(CODE))
    configure(CARD_KEYS=keys)
    with pytest.raises(UnusableCardKeys) as caught:
        decrypt_code(encrypted)
    report = ExceptionReporter(None, caught.type, caught.value, caught.tb)
    seen = variables_of(of_error(caught.value)) + report.get_traceback_text()
    our_frames = seen.split("Settings:")[0]
    assert "LEAKCODE" not in seen
    named = keys if isinstance(keys, list) else []
    assert [
        key for key in (first, *named, "LEAKME") if key in variables_of(of_error(caught.value))
    ] == []
    assert str(caught.value) in our_frames


def test_an_error_of_the_cipher_itself_has_no_code(
    configure: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the machine gives no random numbers."""
    configure(CARD_KEYS=[new_key()])

    def no_random_numbers(_count: int) -> bytes:
        raise OSError("no entropy")

    monkeypatch.setattr("os.urandom", no_random_numbers)
    with pytest.raises(UnusableCardKeys, match="OSError") as caught:
        encrypt_code(CardCode(CODE))
    assert "LEAKCODE" not in variables_of(of_error(caught.value))


def test_what_cannot_be_read_as_text_is_no_code(configure: Any) -> None:
    from cryptography.fernet import Fernet

    key = new_key()
    configure(CARD_KEYS=[key])
    strange = Fernet(key).encrypt(b"\xff LEAKCODE").decode()
    with pytest.raises(UnusableCardKeys) as caught:
        decrypt_code(strange)
    assert "LEAKCODE" not in variables_of(of_error(caught.value))
