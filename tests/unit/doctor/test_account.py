"""Key, mode, addresses, pages and slugs: each line against a service that is not as it should be."""

from typing import Any

import pytest

from payments_pages.doctor import Health
from payments_pages.doctor.account import Account
from payments_pages.models import PaymentPage
from payments_pages.pages import create_page, sync_pages
from payments_pages.sandbox import Sandbox
from tests.support.front import Front

pytestmark = pytest.mark.django_db(transaction=True)


def test_all_is_right(site: str, sandbox: Sandbox) -> None:
    account = Account()
    lines = (
        account.base_url(),
        account.key(),
        account.mode(),
        account.pages(),
        account.pay_url(),
        account.slug_check(),
    )
    assert {line.health for line in lines} == {Health.RIGHT}
    assert {line.advice for line in lines} == {""}
    assert {request.method for request in sandbox.requests} == {"GET"}


@pytest.mark.usefixtures("site")
class TestAddressOfTheApi:
    def test_a_dead_address_is_one_fault_and_the_others_say_where_to_look(
        self, configure: Any, dead: str
    ) -> None:
        configure(BASE_URL=f"{dead}/api")
        account = Account()
        found = account.base_url()
        assert found.health is Health.WRONG
        assert found.seen == (
            "http://127.0.0.1:9/api does not answer as the API: The service could not be reached."
        )
        for line in (account.key, account.pages, account.pay_url, account.slug_check):
            assert line().health is Health.UNKNOWN
            assert "base_url" in line().advice

    @pytest.mark.parametrize("answers", [(200, "<h1>Parked</h1>"), (404, "no"), (301, "")])
    def test_an_address_of_something_else_is_told(
        self, configure: Any, answers: tuple[int, str]
    ) -> None:
        with Front(answers=answers) as front:
            configure(BASE_URL=f"{front.url}/api")
            found = Account().base_url()
        assert (found.health, "does not answer as the API" in found.seen) == (Health.WRONG, True)

    def test_a_malformed_address_is_told(self, configure: Any) -> None:
        configure(BASE_URL="http://api.example")
        assert "must be https" in Account().base_url().seen


@pytest.mark.usefixtures("site")
class TestKey:
    def test_a_wrong_key_is_the_keys_fault_alone(self, configure: Any) -> None:
        configure(SECRET_KEY="sk_test_another")
        account = Account()
        found = account.key()
        assert found.health is Health.WRONG
        assert found.seen == "The service refuses the secret key (401)."
        assert "SECRET_KEY" in found.advice
        assert account.base_url().health is Health.RIGHT

    def test_a_service_that_answers_400_to_a_wrong_key_is_understood(
        self, sandbox: Sandbox
    ) -> None:
        body = {"status": False, "message": "No such merchant"}
        sandbox.faults.add(operation="list", kind="status", status=400, body=body)
        account = Account()
        assert account.base_url().health is Health.RIGHT
        assert account.key().health is Health.WRONG
        assert "No such merchant; some services say so to a wrong key." in account.key().seen

    def test_a_service_that_asks_for_fewer_calls_is_no_fault(self, sandbox: Sandbox) -> None:
        sandbox.faults.add(operation="list", kind="status", status=429)
        account = Account()
        assert account.base_url().health is account.key().health is Health.UNKNOWN

    def test_a_key_that_cannot_be_read_is_told_without_a_call(
        self, configure: Any, sandbox: Sandbox
    ) -> None:
        before = len(sandbox.requests)
        configure(SECRET_KEY=lambda: 1 / 0, MODE="test")
        account = Account()
        assert "ZeroDivisionError" in account.key().seen
        assert account.base_url().health is Health.UNKNOWN
        assert len(sandbox.requests) == before


@pytest.mark.usefixtures("site")
class TestMode:
    def test_a_key_of_the_other_mode_is_told_by_its_prefix(self, configure: Any) -> None:
        configure(MODE="live")
        found = Account().mode()
        assert (found.health, found.seen) == (
            Health.WRONG,
            "MODE is live, and the secret key is of test mode.",
        )

    def test_a_key_without_a_prefix_is_told_by_the_services_pages(
        self, configure: Any, sandbox: Sandbox
    ) -> None:
        sandbox.set_account(secret_key="opaque_key_0001")
        configure(SECRET_KEY="opaque_key_0001", MODE="live")
        found = Account().mode()
        assert found.health is Health.WRONG
        assert "are of test mode" in found.seen
        configure(MODE="test")
        assert Account().mode().seen == "The mode is test, and the service's pages say so, too."

    def test_it_is_not_known_when_nothing_tells_it(self, configure: Any, dead: str) -> None:
        configure(SECRET_KEY="opaque_key_0001", MODE="live", BASE_URL=f"{dead}/api")
        assert Account().mode().health is Health.UNKNOWN


@pytest.mark.usefixtures("site")
class TestPublicAddress:
    def test_a_dead_address_is_told(self, configure: Any, dead: str) -> None:
        configure(PAY_URL=dead)
        found = Account().pay_url()
        assert found.health is Health.WRONG
        assert "Payers cannot open http://127.0.0.1:9/tea-box" in found.seen

    def test_an_address_without_our_pages_is_told(self, configure: Any) -> None:
        with Front(answers=(404, "nothing")) as front:
            configure(PAY_URL=front.url)
            found = Account().pay_url()
        assert (found.health, "answers 404" in found.seen) == (Health.WRONG, True)

    def test_a_page_that_lets_in_browsers_alone_is_not_called_wrong(self, configure: Any) -> None:
        with Front(answers=(403, "Are you human?")) as front:
            configure(PAY_URL=front.url)
            assert Account().pay_url().health is Health.UNKNOWN

    def test_payers_are_followed_through_redirects(self, configure: Any, sandbox: Sandbox) -> None:
        with Front(redirects_to=sandbox.pay_url.removesuffix("/pay")) as front:
            configure(PAY_URL=f"{front.url}/pay")
            assert Account().pay_url().health is Health.RIGHT

    def test_no_page_is_active(self, sandbox: Sandbox) -> None:
        sandbox.set_page("tea-box", active=False)
        assert Account().pay_url().health is Health.UNKNOWN


@pytest.mark.usefixtures("site")
class TestPages:
    @pytest.mark.parametrize(
        ("change", "what"),
        [
            ({"active": False}, "1 is no longer as last set here"),
            ({"amount": 1}, "1 is no longer as last set here"),
            ({"name": "Another"}, "1 is no longer as last set here"),
            ({"slug": "moved"}, "1 is found under another slug now"),
        ],
    )
    def test_a_page_that_was_changed_there_is_told_and_not_mirrored(
        self, sandbox: Sandbox, change: dict[str, Any], what: str
    ) -> None:
        before = list(PaymentPage.objects.values())
        sandbox.set_page("tea-box", **change)
        found = Account().pages()
        assert found.health is Health.WRONG
        assert what in found.seen
        assert "payments_pages_sync" in found.advice
        assert list(PaymentPage.objects.values()) == before

    def test_new_and_missing_pages_are_told(self, sandbox: Sandbox) -> None:
        sandbox.add_page(slug="new", amount=1)
        PaymentPage.objects.update(remote_id=4711, slug="gone", slug_key="gone")
        seen = Account().pages().seen
        assert "2 are not mirrored yet, 1 is no longer listed by the service" in seen
        assert not PaymentPage.objects.filter(missing_since__isnull=False).exists()

    def test_a_drift_that_staff_have_not_decided_about_is_a_warning(self, sandbox: Sandbox) -> None:
        sandbox.set_page("tea-box", amount=5)
        sync_pages()
        found = Account().pages()
        assert found.health is Health.WARNING
        assert "1 is not as last set here" in found.seen

    def test_a_page_that_was_just_made_here_is_right(self) -> None:
        create_page(name="New", slug="new", amount=100)
        assert Account().pages().health is Health.RIGHT

    def test_a_list_that_breaks_off_is_told(self, sandbox: Sandbox) -> None:
        sandbox.faults.add(operation="list", kind="status", status=500, skip=1)
        assert "broke off" in Account().pages().seen


@pytest.mark.usefixtures("site")
class TestSlugCheck:
    def test_no_answer_is_told(self, sandbox: Sandbox) -> None:
        sandbox.faults.add(operation="check_slug", kind="html")
        found = Account().slug_check()
        assert (found.health, "gave no answer" in found.seen) == (Health.WRONG, True)

    @pytest.mark.parametrize(("says", "seen"), [(True, "a taken slug free"), (False, "taken")])
    def test_an_answer_that_is_always_the_same_is_told(
        self, sandbox: Sandbox, says: bool, seen: str
    ) -> None:
        sandbox.faults.add(operation="check_slug", kind="status", status=200, body={"status": says})
        found = Account().slug_check()
        assert (found.health, seen in found.seen) == (Health.WRONG, True)
