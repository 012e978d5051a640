from collections import Counter

from example_project.demo.rush import Answers, Rush
from payments_pages.models import Fulfilment
from tests.acceptance.example.conftest import Shop


def test_what_no_door_may_answer_is_counted_and_a_commands_exit_is_not() -> None:
    answers = Answers()
    answers.codes["confirm"] = Counter({200: 3, 503: 2})
    answers.codes["webhook"] = Counter({0: 1})
    answers.codes["callback"] = Counter({303: 4})
    answers.codes["command"] = Counter({0: 1, 1: 1})
    assert answers.failed == {"confirm 503": 2, "webhook 0": 1}
    assert answers.total == 12


def test_a_rush_sends_everybody_through_the_doors(shop: Shop, live_server: object) -> None:
    site = str(live_server)
    page = shop.page()
    reference = shop.pay(page)
    rush = Rush(site=site, control=shop.sandbox.control_url, environment={})
    for _person in range(3):
        rush.callback(f"{site}/payments/callback/{page.token}/?reference={reference}")
        rush.confirm(reference)
        rush.webhook(reference)
    answers = rush.go()
    assert answers.troubles == []
    # The suite's webhook is closed; no header is set.
    assert answers.codes["webhook"] == Counter({401: 3})
    assert answers.codes["callback"] == Counter({303: 3})
    assert answers.codes["confirm"].total() == 3
    assert shop.sandbox.verify_calls(reference) == 1
    assert Fulfilment.objects.count() == 1


def test_who_gets_no_answer_is_told(shop: Shop) -> None:
    rush = Rush(site="http://127.0.0.1:9", control=shop.sandbox.control_url, environment={})
    rush.confirm("A-1")
    rush.webhook("A-1")
    answers = rush.go()
    assert answers.troubles == ["confirm: ConnectionError"]
    assert answers.failed == {"webhook 0": 1}
