"""The service's own export is read as it is: its references go through the path like any other."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from payments_pages.choices import Attributed, Door, FulfilmentState, Reason
from payments_pages.confirmation import confirm_payment
from payments_pages.models import Event, Fulfilment, PaymentPage, Transaction
from payments_pages.sandbox import Sandbox
from tests.conftest import expect_payment, mirror_another
from tests.support.door_behaviour import pay
from tests.support.goods.models import Good
from tests.unit.management.test_confirm_references import delivered_of

pytestmark = pytest.mark.django_db(transaction=True)

HEADING = "ID,Reference,Status,Amount,Currency,Customer"


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("payments_pages_confirm", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def export(tmp_path: Path) -> Any:
    def write(content: str | bytes) -> str:
        file = tmp_path / "export.csv"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(file)

    return write


@pytest.fixture
def paid(tea_box: PaymentPage, sandbox: Sandbox) -> list[str]:
    """Two payments that something says the purpose of."""
    return [pay(sandbox, reference=name) for name in ("PPG-1", "PPG-2")]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_table_is_read_whatever_divides_its_cells(
    export: Any, paid: list[str], delimiter: str, mark: str, end: str
) -> None:
    rows = [
        ["ID", "Reference", "Status", "Customer"],
        ["1", "PPG-1", "success", '"Layla ""Lulu"" Haddad, Jenin; Nablus\t|"'],
        ["2", '"PPG-2"', "success", '"two\nlines"'],
    ]
    text = mark + "".join(delimiter.join(row) + end for row in rows)
    found = run("--file", export(text), "--column", "Reference")
    assert delivered_of(found) == "2 of 2"
    assert Good.objects.count() == 2


@pytest.mark.parametrize("name", ["reference", " REFERENCE ", "Reference"])
def test_small_and_capital_letters_of_the_heading_do_not_matter(
    export: Any, paid: list[str], name: str
) -> None:
    file = export(f"{HEADING}\n1,PPG-1,success,100,ILS,x\n")
    assert delivered_of(run("--file", file, "--column", name)) == "1 of 1"


def test_a_spreadsheets_own_line_about_the_delimiter_is_no_heading(
    export: Any, paid: list[str]
) -> None:
    file = export("sep=;\nID;Reference\n1;PPG-1\n")
    assert delivered_of(run("--file", file, "--column", "Reference")) == "1 of 1"


def test_a_table_of_one_column_has_no_delimiter(export: Any, paid: list[str]) -> None:
    file = export("Reference\nPPG-1\n\nPPG-2\n")
    assert delivered_of(run("--file", file, "--column", "Reference")) == "2 of 2"


def test_a_table_comes_through_standard_input_too(
    paid: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"\ufeff{HEADING}\n1,PPG-1,success,100,ILS,x\n"))
    found = run("--file", "-", "--column", "Reference")
    assert delivered_of(found) == "1 of 1"


def test_what_is_left_out_is_counted_and_said(
    export: Any, paid: list[str], sandbox: Sandbox
) -> None:
    """Only what the file itself calls failed or abandoned: any other word is asked about."""
    pay(sandbox, reference="PPG-3")
    file = export(
        f"{HEADING}\n"
        "1,PPG-1,success,100,ILS,x\n"
        "2,PPG-2,Paid,100,ILS,x\n"
        "3,PPG-3,,100,ILS,x\n"
        "4,PPG-4,failed,100,ILS,x\n"
        "5,PPG-5,Abandoned,100,ILS,x\n"
        "6,PPG-6,ABANDONED,100,ILS,x\n"
        "7, ,success,100,ILS,x\n"
        "8\n"
        ",,,,,\n"
        "\n"
        "9,PPG-1,success,100,ILS,x\n"
        "10,PPG-1,success,100,ILS,x\n"
    )
    assert run("--file", file, "--column", "Reference") == (
        "PPG-1: delivered now\nPPG-2: delivered now\nPPG-3: delivered now\n"
        "3 of 3 delivered:\n  3 delivered now\n"
        "Left out of the file: 2 abandoned, 1 failed, 2 repeated, 3 without a reference.\n"
    )
    assert sandbox.verify_calls() == 3


def test_a_row_with_more_cells_than_the_heading_is_named_and_not_guessed(
    export: Any, paid: list[str]
) -> None:
    file = export(
        f"{HEADING}\n1,PPG-1,success,1,000,ILS,x\n2,PPG-2,success,100,ILS,x\n3,PPG-2,success,1,ILS,x,,\n"
    )
    out = io.StringIO()
    with pytest.raises(
        CommandError, match=r"1 of 2 .*\n  1 delivered now\n  1 unreadable\nLeft out"
    ):
        call_command("payments_pages_confirm", file=file, column="Reference", stdout=out)
    assert out.getvalue().startswith("line 2: unreadable\nPPG-2: delivered now\n")
    assert Good.objects.get().reference == "PPG-2"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (f"{HEADING}\n1,PPG-1,success,100,ILS,x\n", ["no column 'Ref'", "'Reference'", "'Amount'"]),
        ("", ["no column 'Ref'", "is empty"]),
        ("Ref,Ref\nPPG-1,PPG-2\n", ["2 columns 'Ref'"]),
        ('ID,Ref\n1,"PPG-1\n2,PPG-2\n', ["cannot be read", "line 3"]),
        ('ID,Ref\n1,"PPG"-1\n', ["cannot be read", "line 2"]),
        ("ID,Ref\n1,PPG-1\n".encode("utf-16"), ["cannot be read", "UTF-8"]),
        ("ID,Ref\n1,PPG-1\n".encode("utf-16-le"), ["cannot be read", "UTF-8"]),
        ("اسم,Ref\nليلى,PPG-1\n".encode("cp1256"), ["cannot be read", "UTF-8"]),
    ],
)
def test_a_table_that_cannot_be_read_is_refused_whole_and_in_words(
    export: Any, paid: list[str], content: str | bytes, words: list[str]
) -> None:
    with pytest.raises(CommandError) as refused:
        run("--file", export(content), "--column", "Ref")
    for word in words:
        assert word in str(refused.value)
    assert not Transaction.objects.exists()


def test_a_table_without_the_columns_name_is_refused_with_the_names_there_are(
    export: Any, paid: list[str]
) -> None:
    with pytest.raises(CommandError, match=r"--column.*'Reference'"):
        run("--file", export(f"{HEADING}\n1,PPG-1,success,100,ILS,x\n"))
    assert not Transaction.objects.exists()


@pytest.mark.parametrize("arguments", [["PPG-1", "--column", "x"], ["--pending", "--column", "x"]])
def test_a_column_is_one_of_a_file(paid: list[str], arguments: list[str]) -> None:
    with pytest.raises(CommandError, match="--column needs --file"):
        run(*arguments)


# --page


@pytest.fixture
def held(tea_box: PaymentPage, sandbox: Sandbox) -> list[str]:
    """Payments of a hosted page whose payer's callback is lost; the second is not enough for it."""
    return [sandbox.pay("tea-box"), sandbox.pay("tea-box", amount=9000)]


def test_a_page_is_attributed_by_the_word_of_staff_and_the_rules_decide(
    held: list[str], tea_box: PaymentPage, export: Any
) -> None:
    enough, less = held
    file = export(f"{HEADING}\n1,{enough},success,100,ILS,x\n2,{less},success,90,ILS,x\n")
    out = io.StringIO()
    with pytest.raises(CommandError, match=r"1 of 2 .*\n  1 delivered now\n  1 paid; held"):
        call_command(
            "payments_pages_confirm", file=file, column="reference", page="tea-box", stdout=out
        )
    assert f"\n{less}: paid; held for staff: paid less than the price\n" in out.getvalue()
    assert Good.objects.get().reference == enough
    assert set(Transaction.objects.values_list("page", "attributed_by")) == {
        (tea_box.pk, Attributed.STAFF)
    }
    told = Event.objects.filter(kind="attributed")
    assert set(told.values_list("door", "actor", "detail")) == {
        ("command", "payments_pages_confirm", "tea-box")
    }
    with pytest.raises(CommandError, match=r"1 of 2 .*\n  1 delivered before\n  1 paid; held"):
        run("--file", file, "--column", "reference", "--page", "tea-box")
    assert told.count() == 2, "the second run names nothing again"


def test_what_was_held_before_is_attributed_too(held: list[str], tea_box: PaymentPage) -> None:
    confirm_payment(held[0], door=Door.WEBHOOK, vouched=True)
    assert Fulfilment.objects.get().reason == Reason.UNATTRIBUTED
    assert delivered_of(run(held[0], "--page", "tea-box")) == "1 of 1"


def test_what_something_else_says_is_not_overruled(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    """An expected payment of another price, and a page that the payer's callback has named."""
    mirror_another(sandbox, slug="cheap", amount=100)
    expect_payment("PPG-1", amount=20000)
    sandbox.add_transaction("PPG-1")
    claimed = sandbox.pay("tea-box", amount=9999)
    confirm_payment(claimed, door=Door.CALLBACK, page_token=tea_box.token)
    with pytest.raises(CommandError, match=r"0 of 2 .*\n  2 paid; held for staff"):
        run("PPG-1", claimed, "--page", "cheap")
    assert not Good.objects.exists()


def test_a_page_nobody_knows_is_refused_before_anything_is_asked(
    held: list[str], sandbox: Sandbox
) -> None:
    with pytest.raises(CommandError, match=r"no page 'tea-bx'.*payments_pages_sync"):
        run(*held, "--page", "tea-bx")
    assert sandbox.verify_calls() == 0


def test_the_page_of_the_other_mode_is_not_found_by_its_slug(
    held: list[str], tea_box: PaymentPage, configure: Any
) -> None:
    configure(SECRET_KEY="sk_live_suite")
    with pytest.raises(CommandError, match="no page"):
        run(*held, "--page", "tea-box")


def test_a_payment_in_another_currency_stays_held(sandbox: Sandbox, tea_box: PaymentPage) -> None:
    reference = sandbox.pay("tea-box", currency="JOD")
    with pytest.raises(CommandError, match="0 of 1"):
        run(reference, "--page", "tea-box")
    row = Fulfilment.objects.get()
    assert (row.state, row.reason) == (FulfilmentState.HELD, Reason.CURRENCY_MISMATCH)
