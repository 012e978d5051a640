"""Settings of the site that `tests/reliability/fuzz` drives: the example's, but nobody is put off.

Nearly every reference a fuzzer makes up is unknown to the service. With the usual budgets most
would be answered 503 without being asked about, and the path behind would not be reached.
"""

from example_project.settings import *  # noqa: F403 - settings modules are made this way
from example_project.settings import PAYMENTS_PAGES

PAYMENTS_PAGES |= {"UNKNOWN_PER_ADDRESS": 1_000_000, "UNKNOWN_IN_ALL": 1_000_000}
