"""Kill, stop and lie while payments are made, then check that each was delivered once.

`python -m tests.reliability.torture --seconds 20 --database sqlite --handler atomic`
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from tests.reliability.torture.run import Options, run
from tests.reliability.torture.servers import Missing


def main() -> int:
    """Run once; 0 when nothing was lost, doubled or broken, or when a control did what it must.

    1 when not, or when too little happened to tell.
    """
    parser = argparse.ArgumentParser(
        prog="python -m tests.reliability.torture", description=__doc__.partition("\n")[0]
    )
    parser.add_argument("--seconds", type=float, default=20, help="how long payments are made")
    parser.add_argument("--database", choices=["sqlite", "postgresql", "mariadb"], default="sqlite")
    parser.add_argument("--handler", choices=["atomic", "external"], default="atomic")
    parser.add_argument(
        "--control",
        choices=["mark-first", "work-first", "no-guard", "unguarded", "older-look"],
        help="do it wrong on purpose: this must lose or double; unguarded is the package's own "
        "path with guards that let everybody through, older-look answers a notice from the look "
        "before it",
    )
    parser.add_argument(
        "--door",
        choices=["path", "http"],
        default="path",
        help="call confirm_payment, or the site's views over HTTP",
    )
    parser.add_argument(
        "--delivery",
        choices=["inline", "queued"],
        default="inline",
        help="at the door, or by workers behind a queue that loses, doubles and delays",
    )
    parser.add_argument("--workers", type=int, default=6, help="processes that confirm")
    parser.add_argument("--threads", type=int, default=2, help="threads of each of them")
    parser.add_argument("--rate", type=float, default=15, help="new payments a second")
    parser.add_argument("--seed", type=int, default=1, help="of the order of misfortunes")
    given = parser.parse_args()
    if given.control and (given.handler, given.door, given.delivery) != (
        "atomic", "path", "inline",
    ):  # fmt: skip
        parser.error("a control has a way of its own: it goes with no handler, door or delivery")
    # If the run is ended early, for example by a time limit, no server may be left running.
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(128 + signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        # Servers that run as another user must get through to their own folder in it.
        Path(folder).chmod(0o711)
        try:
            return run(Options(folder=Path(folder), **vars(given)))
        except Missing as error:
            sys.stderr.write(f"{error}\n")
            return 2


if __name__ == "__main__":
    sys.exit(main())
