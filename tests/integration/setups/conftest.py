"""What the story asserts is shown in full when it does not hold, as in a test."""

import pytest

pytest.register_assert_rewrite(
    "tests.integration.setups.crawl",
    "tests.integration.setups.site",
    "tests.integration.setups.story",
)
