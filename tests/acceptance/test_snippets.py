"""Every block of Python in README.md and on the pages of docs/ is run by a test."""

import ast

import pytest

from tests.support.snippets import ROOT, blocks, page_text, pages

QUICK_START = "acceptance/test_quick_start.py::test_the_quick_start_works_from_the_built_wheel"
SHOP = "acceptance/test_handler_page.py::test_the_shop_of_the_page_sells"
OUTSIDE = (
    "acceptance/test_handler_page.py::"
    "test_the_handler_for_the_outside_world_says_the_same_keys_when_it_is_tried_again"
)
MERCHANT = "acceptance/test_merchant_pages.py::"
QUEUES = "acceptance/test_queues_page.py::"
CHARGING = "unit/cards/test_charging.py::"
POPUP = "acceptance/test_docs.py::test_the_snippets_of_a_merchant_make_one_order_and_find_it_again"
PRODUCTION = "acceptance/test_production.py::"
REPORTS = "acceptance/test_production_reports.py::"
DATABASES = (
    "acceptance/test_production_databases.py::test_the_settings_use_the_names_of_the_statements"
)
TAKING_BACK = (
    "unit/admin/test_money_back.py::"
    "test_the_recipe_takes_back_what_was_delivered_and_reversed_by_signal_and_by_command"
)

RUN: dict[str, dict[str, str]] = {
    "README.md": {
        "settings.py": QUICK_START,
        "sqlite": QUICK_START,
        "urls.py": QUICK_START,
        "models.py": QUICK_START,
        "admin.py": QUICK_START,
        "handlers.py": QUICK_START,
        "site": MERCHANT + "test_the_settings_of_the_pages_pass_the_checks",
    },
    "cards.md": {
        "owner": CHARGING + "test_the_blocks_of_the_page_save_a_card_and_charge_it",
        "forget": CHARGING + "test_the_block_of_the_page_forgets_the_cards_of_a_user",
        "charge": CHARGING + "test_the_blocks_of_the_page_save_a_card_and_charge_it",
    },
    "handler.md": {
        "models.py": SHOP,
        "handlers.py": SHOP,
        "orders.py": SHOP,
        "mails.py": SHOP,
        "sold_out.py": SHOP,
        "external": OUTSIDE,
    },
    "money-back.md": {"listen": TAKING_BACK, "reconcile": TAKING_BACK},
    "monitoring.md": {
        "health": MERCHANT + "test_the_health_view_is_routed_and_tells_the_age",
        "notify": MERCHANT + "test_the_settings_of_the_pages_pass_the_checks",
    },
    "observability.md": {
        "prometheus": "unit/test_observability.py::"
        "test_the_prometheus_recipe_counts_calls_deliveries_and_age",
    },
    "popup.md": {
        "expect": POPUP,
        "handler": POPUP,
        "client": "acceptance/test_docs.py::test_the_client_of_the_page_reads_every_answer",
        "test": "acceptance/test_docs.py::test_the_snippet_with_the_sandbox_runs",
    },
    "production.md": {
        "address": PRODUCTION + "test_nginx_writes_over_each_header_that_django_believes",
        "https": PRODUCTION + "test_nginx_writes_over_each_header_that_django_believes",
        "cache": REPORTS + "test_a_payer_is_served_while_the_cache_is_down",
        "postgresql-settings": DATABASES,
        "mariadb-settings": DATABASES,
        "lines": REPORTS + "test_each_record_is_a_line_of_json_with_its_facts",
        "logging": REPORTS + "test_each_record_is_a_line_of_json_with_its_facts",
        "reports": REPORTS + "test_a_failed_delivery_is_mailed_without_the_payer",
        "scrub": REPORTS + "test_a_tracker_gets_places_and_types",
    },
    "queues.md": {
        "tasks": QUEUES
        + "test_the_snippet_for_django_s_tasks_leaves_deliveries_to_the_worker_it_names",
        "celery.py": QUEUES
        + "test_the_snippet_for_celery_makes_an_app_that_doors_workers_and_beat_know",
    },
    "recipes.md": dict.fromkeys(
        (
            "models",
            "products",
            "orders",
            "letters",
            "stock",
            "warehouse",
            "donations",
            "own-code",
            "notice",
            "thanks",
            "setting",
            "books",
        ),
        "acceptance/test_recipes.py::test_every_python_block_is_named_and_each_is_run_here",
    ),
    "result-pages.md": {
        "texts": MERCHANT + "test_the_merchants_words_are_on_the_result_page",
        "views.py": MERCHANT + "test_a_view_of_ones_own_thanks_who_was_given_the_value",
    },
    "settings.md": {
        "described": MERCHANT + "test_a_service_can_be_described_without_its_name",
        "sqlite": MERCHANT + "test_what_settings_and_quick_start_both_show_is_the_same",
        "urls.py": MERCHANT + "test_what_settings_and_quick_start_both_show_is_the_same",
    },
    "several-sites.md": {
        "settings_second.py": QUICK_START,
    },
    "signals.md": {
        "receiver": MERCHANT + "test_the_receiver_tells_of_what_is_held",
        "own-code": MERCHANT + "test_own_code_tells_what_is_paid",
    },
    "testing.md": {
        "test": MERCHANT + "test_the_tests_of_a_handler_run",
        "faults": MERCHANT + "test_the_tests_of_a_handler_run",
    },
    "webhooks.md": {
        "webhook": MERCHANT + "test_the_settings_of_the_pages_pass_the_checks",
        "attribution": "acceptance/test_webhooks_page.py::"
        "test_a_webhook_alone_delivers_a_page_with_a_price_of_its_own",
        "rotate": "acceptance/test_webhooks_page.py::test_two_secrets_are_accepted_during_a_change",
        "local": "acceptance/test_webhooks_page.py::"
        "test_the_sandbox_sends_to_the_address_of_the_settings",
    },
}
"""Each page's blocks of Python, and the test that runs each."""

LISTED = [(page, name) for page, names in RUN.items() for name in names]


def named_blocks() -> list[tuple[str, str | None]]:
    return [(page.name, name) for page in pages() for name in blocks(page_text(page.name))]


def test_every_block_of_python_has_a_name_and_a_test_that_runs_it() -> None:
    found = named_blocks()
    assert [page for page, name in found if name is None] == []
    assert sorted(found) == sorted(LISTED)


@pytest.mark.parametrize(
    "test", sorted({test for names in RUN.values() for test in names.values()})
)
def test_the_tests_that_are_said_to_run_them_are_there(test: str) -> None:
    """Each is a function of that file; the file names the page and each block that it runs."""
    path, _colons, function = test.partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text())
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert function in functions
    texts = {
        part
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for part in (node.value, node.value.rpartition("/")[2])
    }
    named = {part for page, name in LISTED if RUN[page][name] == test for part in (page, name)}
    if path.startswith("unit/test_observability"):
        named -= {"prometheus"}  # it cuts the page at the line above the block
    # A module of a recipe's shop cannot have a hyphen in its name.
    assert named <= texts | {text.replace("_", "-") for text in texts}


def test_blocks_are_found_however_they_are_fenced() -> None:
    text = "\n".join(
        [
            "<!-- snippet: one -->", "```python", "x = 1", "```", "",
            "```python", "nameless = True", "```", "",
            "> ```python", "> quoted = True", "> ```", "",
            "````text", "```python", "```", "````", "",
            "~~~ python", "tilde = True", "~~~", "",
            "<!-- snippet: page -->", "```html", "<p></p>", "```",
        ]
    )  # fmt: skip
    assert blocks(text) == ["one", None, None, None]
    assert blocks(text, "html") == ["page"]
