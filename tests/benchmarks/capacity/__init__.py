"""How many payments a day: constants that are measured, a simulation, and its check against one real run.

    python -m tests.benchmarks.capacity measure    # constants, on DATABASE_URL (PostgreSQL), some minutes
    python -m tests.benchmarks.capacity validate   # the simulation beside a real gunicorn, a minute
    python -m tests.benchmarks.capacity simulate   # the tables, from the constants kept, seconds

With `--write` the tables go into docs/capacity.md.
"""
