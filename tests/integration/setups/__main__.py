"""`python -m tests.integration.setups --write` writes the table of set-ups in `docs/setups.md`."""

import sys

from tests.integration.setups.page import PAGE, written

if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit(__doc__)
    PAGE.write_text(written(PAGE.read_text()))
