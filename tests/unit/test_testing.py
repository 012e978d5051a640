"""The public testing module, used as a merchant uses it: a project of its own, in a process of its own."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.management import call_command
from django.db import connection
from django.http import HttpResponse, HttpResponseRedirect
from django.urls import clear_script_prefix, set_script_prefix

from payments_pages import testing
from payments_pages.choices import Outcome
from payments_pages.db import foreign_keys_lock
from payments_pages.models import ExpectedPayment, Fulfilment, Verification
from payments_pages.sandbox import Sandbox
from payments_pages.testing.fixtures import sandbox as fixture
from tests.support.goods.models import Good

ROOT = Path(__file__).resolve().parent.parent.parent
committed = pytest.mark.django_db(transaction=True)


def given(reference: str) -> Any:
    return Good.objects.filter(reference=reference)


@pytest.fixture
def double() -> Any:
    with testing.sandboxed() as running:
        yield running


# What a merchant's tests say

MERCHANT = {
    "settings.py": """
        import os
        import environ

        SECRET_KEY = "only for tests"
        USE_TZ = True
        ROOT_URLCONF = "urls"
        INSTALLED_APPS = ["payments_pages", "shop"]
        DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
        TEMPLATES = [
            {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}
        ]
        DATABASES = {"default": environ.Env.db_url_config(os.environ["DATABASE_URL"])}
        DATABASES["default"]["TEST"] = {"NAME": os.environ["TEST_NAME"] or None}
        PAYMENTS_PAGES = {
            "SECRET_KEY": "sk_live_of_production",
            "BASE_URL": "https://api.service.example",
            "PAY_URL": "https://pay.service.example",
            "SITE_URL": "https://shop.example",
            "HANDLER": "shop.handlers.give",
        }
    """,
    "urls.py": """
        from django.urls import include, path

        urlpatterns = [path("payments/", include("payments_pages.urls"))]
    """,
    "shop/__init__.py": "",
    "shop/models.py": """
        from django.db import models

        class Licence(models.Model):
            reference = models.CharField(max_length=128)
    """,
    "shop/handlers.py": """
        from django.db import DatabaseError
        from shop.models import Licence

        SENT = []  # stands for a system out there: no rollback undoes what it was told

        def give(fulfilment):
            Licence.objects.create(reference=fulfilment.transaction.reference)

        def send(fulfilment):
            if fulfilment.idempotency_key not in SENT:
                SENT.append(fulfilment.idempotency_key)

        def give_two(fulfilment):
            give(fulfilment)
            give(fulfilment)

        def swallow(fulfilment):
            try:
                raise DatabaseError("the stock is gone")
            except DatabaseError:
                pass

        def send_without_key(fulfilment):
            SENT.append(object())

        def give_and_send(fulfilment):
            give(fulfilment)
            send_without_key(fulfilment)

        def fail(fulfilment):
            raise RuntimeError("no luck")
    """,
    "conftest.py": """
        import pytest
        from shop import handlers

        pytest_plugins = ["payments_pages.testing.fixtures"]

        @pytest.fixture(autouse=True)
        def nothing_sent():
            handlers.SENT.clear()
    """,
    "test_right.py": """
        import pytest
        from django.test import TestCase, TransactionTestCase
        from payments_pages import testing
        from shop.handlers import SENT
        from shop.models import Licence

        @pytest.mark.django_db
        def test_a_payer_gets_a_licence(sandbox, client):
            page = testing.make_page(amount=12050)
            visit = testing.pay(sandbox, page, email="payer@example.test")
            assert visit.response.status_code == 303
            assert visit.outcome == "already_delivered"
            # Read on a site without Django's admin, as this one is.
            assert client.get(visit.response.headers["Location"]).status_code == 200
            testing.assert_delivered_once(visit.reference, Licence.objects.all())

        @pytest.mark.django_db(transaction=True)
        def test_a_rush(sandbox):
            page = testing.make_page()
            visit = testing.pay(sandbox, page, returns=False)
            outcomes = testing.rush(visit.reference, times=8, page=page)
            assert set(outcomes) <= {"delivered", "already_delivered"}, outcomes
            assert outcomes.count("delivered") <= 1
            assert sandbox.verify_calls(visit.reference) == 1
            testing.assert_delivered_once(visit.reference, Licence.objects.all())

        @pytest.mark.django_db
        def test_a_crash(sandbox):
            page = testing.make_page()
            visit = testing.pay(sandbox, page, returns=False)
            assert testing.deliver_after_crash(visit.reference, page=page) == "already_delivered"
            testing.assert_delivered_once(visit.reference, Licence.objects.all())

        @pytest.mark.django_db
        def test_a_crash_of_an_external_handler(sandbox):
            with testing.configured(HANDLER="shop.handlers.send", HANDLER_ATOMIC=False):
                page = testing.make_page()
                visit = testing.pay(sandbox, page, returns=False)
                testing.deliver_after_crash(visit.reference, page=page)
                testing.assert_delivered_once(visit.reference, lambda: len(SENT))

        class LicenceTests(testing.SandboxMixin, TransactionTestCase):
            account = {"currency": "JOD"}

            def test_a_rush(self):
                page = self.make_page(amount=1250)
                assert page.currency == "JOD"
                visit = self.pay(page, returns=False)
                self.rush(visit.reference, page=page)
                self.assertDeliveredOnce(visit.reference, Licence.objects.all())

        class QuickTests(testing.SandboxMixin, TestCase):
            def test_a_payer(self):
                visit = self.pay(self.make_page())
                self.assertDeliveredOnce(visit.reference, Licence.objects.all())
    """,
    "test_wrong.py": """
        import pytest
        from payments_pages import testing
        from shop.handlers import SENT
        from shop.models import Licence

        def buy(sandbox, handler, **keys):
            with testing.configured(HANDLER=f"shop.handlers.{handler}", **keys):
                page = testing.make_page()
                return testing.pay(sandbox, page).reference

        def crash(sandbox, handler, **keys):
            with testing.configured(HANDLER=f"shop.handlers.{handler}", **keys):
                page = testing.make_page()
                reference = testing.pay(sandbox, page, returns=False).reference
                testing.deliver_after_crash(reference, page=page)
                return reference

        @pytest.mark.django_db
        def test_gives_two(sandbox):
            testing.assert_delivered_once(buy(sandbox, "give_two"), Licence.objects.all())

        @pytest.mark.django_db
        def test_swallows_its_error(sandbox):
            testing.assert_delivered_once(buy(sandbox, "swallow"), Licence.objects.all())

        @pytest.mark.django_db
        def test_fails(sandbox):
            testing.assert_delivered_once(buy(sandbox, "fail"))

        @pytest.mark.django_db
        def test_calls_out_without_a_key(sandbox):
            reference = crash(sandbox, "send_without_key", HANDLER_ATOMIC=False)
            testing.assert_delivered_once(reference, lambda: len(SENT))

        @pytest.mark.django_db
        def test_calls_out_inside_the_transaction(sandbox):
            reference = crash(sandbox, "give_and_send")
            testing.assert_delivered_once(reference, Licence.objects.all())
            testing.assert_delivered_once(reference, lambda: len(SENT))

        @pytest.mark.django_db
        def test_crashes_before_its_end(sandbox):
            crash(sandbox, "fail")
    """,
}

WRONG = {
    "test_gives_two": "is delivered, but 2 rows were counted for it",
    "test_swallows_its_error": "is delivered, but 0 rows were counted for it",
    "test_fails": "is failed, not delivered: RuntimeError: no luck",
    "test_calls_out_without_a_key": "is delivered, but 2 rows were counted for it",
    "test_calls_out_inside_the_transaction": "is delivered, but 2 rows were counted for it",
    "test_crashes_before_its_end": "The handler did not return for",
}
"""What the failing tests of a merchant with a wrong handler are told."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("merchant")
    for name, text in MERCHANT.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return folder


def run(project: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Run one file of the merchant's tests: on SQLite in memory, Django's default, or on our server."""
    url = os.environ.get("DATABASE_URL") or "sqlite://:memory:"
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "TESTS_", "DJANGO_"))
    }
    environment |= {
        "DATABASE_URL": url,
        "TEST_NAME": "" if url.startswith("sqlite") else f"test_pp_merchant_{os.getpid()}",
        "DJANGO_SETTINGS_MODULE": "settings",
        "PYTHONPATH": f"{project}{os.pathsep}{ROOT}",
    }
    # Their warnings are errors as well: an unclosed socket or connection of ours would show.
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "--rootdir", str(project)]
    command += [
        "-p",
        "no:cacheprovider",
        "-p",
        "no:schemathesis",
        "-W",
        "error",
        "--tb=short",
        "-v",
    ]
    return subprocess.run(
        [*command, name], cwd=project, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_right_handlers_pass_a_merchants_tests(project: Path) -> None:
    done = run(project, "test_right.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout


@pytest.mark.slow
def test_wrong_handlers_are_caught_by_a_merchants_tests(project: Path) -> None:
    done = run(project, "test_wrong.py")
    assert f"{len(WRONG)} failed" in done.stdout, done.stdout + done.stderr
    told = dict(re.findall(r"^_+ (test_\w+) _+$(.*?)(?=^_+ test_|\Z)", done.stdout, re.M | re.S))
    for test, words in WRONG.items():
        assert words in told[test], (test, told[test])


# The parts


@pytest.mark.django_db
def test_a_payer_who_closes_the_tab_is_served_by_the_webhook_or_the_sweep(double: Sandbox) -> None:
    page = testing.make_page(amount=None)
    told = testing.pay(double, page, returns=False, amount=777, metadata={"page": page.slug})
    assert (told.response, told.outcome, told.fulfilment) == (None, Outcome.UNKNOWN, None)
    assert testing.send_webhook(told.reference, signature="0" * 64).status_code == 401
    assert testing.send_webhook(told.reference).status_code == 200
    assert told.outcome in {Outcome.HELD, Outcome.ALREADY_DELIVERED}
    expected = ExpectedPayment.objects.expect(amount=500, currency="ILS")
    swept = testing.pay_expected(double, expected, returns=False)
    assert testing.run_sweep().taken == 0
    assert testing.run_sweep(after=130).outcomes == {Outcome.DELIVERED: 1}
    testing.assert_delivered_once(swept.reference, given(swept.reference))


@pytest.mark.django_db
def test_a_popup_hands_its_reference_over(double: Sandbox) -> None:
    paid = testing.pay_expected(double, ExpectedPayment.objects.expect(amount=5, currency="ILS"))
    assert paid.response is not None
    assert paid.response.status_code == 200
    assert paid.fulfilment is not None
    cheap = testing.pay_expected(
        double, ExpectedPayment.objects.expect(amount=500, currency="ILS"), amount=499
    )
    assert cheap.outcome is Outcome.HELD
    with pytest.raises(AssertionError, match="is held, not delivered: paid less than the price"):
        testing.assert_delivered_once(cheap.reference)


@pytest.fixture
def below_a_path(settings: Any) -> Any:
    """A site that is served below /market, as Django sets it up when it starts."""
    settings.FORCE_SCRIPT_NAME = "/market"
    set_script_prefix("/market")
    yield
    clear_script_prefix()


@pytest.mark.django_db
def test_f14_payers_come_back_to_a_site_below_a_path(double: Sandbox, below_a_path: None) -> None:
    page = testing.make_page()
    visit = testing.pay(double, page)
    assert visit.response is not None
    assert visit.response.headers["Location"].startswith("/market/payments/result/")
    testing.assert_delivered_once(visit.reference)
    popup = testing.pay_expected(double, ExpectedPayment.objects.expect(amount=5, currency="ILS"))
    testing.assert_delivered_once(popup.reference)
    told = testing.pay(double, page, returns=False)
    assert testing.send_webhook(told.reference).status_code == 200


def closed(get_response: Any) -> Any:
    """A middleware that answers everything itself: 503, or a redirect for a POST."""

    def answer(request: Any) -> Any:
        if request.method == "POST":
            return HttpResponseRedirect("/login/")
        return HttpResponse("Back soon.", status=503)

    return answer


@pytest.mark.django_db
def test_f14_an_answer_that_is_not_ours_is_named_with_its_address(
    double: Sandbox, settings: Any
) -> None:
    page = testing.make_page()
    expected = ExpectedPayment.objects.expect(amount=5, currency="ILS")
    settings.MIDDLEWARE = [f"{__name__}.closed"]
    with pytest.raises(AssertionError, match=f"/callback/{page.token}/ was answered 503, and not"):
        testing.pay(double, page)
    moved = "confirm/ was answered 302 and leads to /login/, and not"
    with pytest.raises(AssertionError, match=moved):
        testing.pay_expected(double, expected)
    with pytest.raises(AssertionError, match="webhook/ was answered 302"):
        testing.send_webhook(expected.reference)


@pytest.mark.django_db
def test_what_is_not_delivered_is_said_in_words(double: Sandbox) -> None:
    with pytest.raises(AssertionError, match="has no transaction"):
        testing.assert_delivered_once("A-1")
    declined = testing.pay(double, testing.make_page(), status="failed")
    assert declined.outcome is Outcome.NOT_PAID
    with pytest.raises(AssertionError, match="is not paid: its status is 'failed'"):
        testing.assert_delivered_once(declined.reference)


@pytest.mark.django_db
def test_a_rush_inside_a_transaction_is_refused(double: Sandbox) -> None:
    with pytest.raises(RuntimeError, match="TransactionTestCase"):
        testing.rush("A-1")


@pytest.mark.django_db
def test_sweep_and_commands_work_inside_the_transaction_of_a_testcase(double: Sandbox) -> None:
    """Django's close_old_connections would cut it off: all would be lost with the connection."""
    references = [
        testing.pay_expected(
            double, ExpectedPayment.objects.expect(amount=5, currency="ILS"), returns=False
        ).reference
        for _number in range(3)
    ]
    call_command("payments_pages_confirm", references[0])
    testing.let_time_pass(130)
    call_command("payments_pages_sweep")
    for reference in references:
        testing.assert_delivered_once(reference, given(reference))


@committed
def test_a_rush_gives_once_and_asks_once(double: Sandbox) -> None:
    page = testing.make_page()
    visit = testing.pay(double, page, returns=False)
    outcomes = testing.rush(visit.reference, times=12, page=page)
    assert len(outcomes) == 12
    assert set(outcomes) <= {Outcome.DELIVERED, Outcome.ALREADY_DELIVERED}
    assert double.verify_calls(visit.reference) == 1
    testing.assert_delivered_once(visit.reference, given(visit.reference))


@committed
def test_an_error_in_a_rush_is_raised(double: Sandbox) -> None:
    page = testing.make_page()
    visit = testing.pay(double, page, returns=False)
    with testing.configured(SECRET_KEY=None, MODE="test"), pytest.raises(Exception, match="SECRET"):
        testing.rush(visit.reference, times=2, page=page)


@committed
def test_a_crash_leaves_a_lease_and_nothing_else(double: Sandbox) -> None:
    page = testing.make_page()
    visit = testing.pay(double, page, returns=False)
    testing.deliver_after_crash(visit.reference, page=page)
    # Of an attempt in the record nothing is left: the sweep's is the first, after a second ask.
    recorded_first = foreign_keys_lock(connection.alias)
    assert Fulfilment.objects.get().attempts == 1 + recorded_first
    assert Verification.objects.get().attempts == 2 - recorded_first
    testing.assert_delivered_once(visit.reference, given(visit.reference))


def test_a_site_is_pointed_at_the_sandbox_and_back() -> None:
    before = dict(django_settings.PAYMENTS_PAGES)
    with testing.sandboxed(secret_key="sk_live_x") as running:
        inside = django_settings.PAYMENTS_PAGES
        assert (inside["BASE_URL"], inside["MODE"]) == (running.base_url, "live")
        assert inside["HANDLER"] == before["HANDLER"]
    assert before == django_settings.PAYMENTS_PAGES


def test_the_fixture_is_the_sandbox() -> None:
    running = next(iter(fixture.__wrapped__()))  # type: ignore[attr-defined]
    assert isinstance(running, Sandbox)


def test_pytest_is_imported_by_the_fixtures_alone() -> None:
    code = (
        "import sys, django; from django.conf import settings;"
        "settings.configure(INSTALLED_APPS=['payments_pages']); django.setup();"
        "import payments_pages.testing; sys.exit('pytest' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.django_db
def test_time_passes_for_what_waits(double: Sandbox) -> None:
    ExpectedPayment.objects.expect(amount=5, currency="ILS")
    assert Verification.objects.due().count() == 0
    testing.let_time_pass(121)
    assert Verification.objects.due().count() == 1
