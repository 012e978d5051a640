"""Benchmarks: commands that print a table, on loopback and within bounds.

    python -m tests.benchmarks                 callbacks against the floor and the peers: docs/speed.md
    python -m tests.benchmarks.hung_service    what a hung service does to the rest of a site
    python -m tests.benchmarks.soak            an hour of mixed load

`make bench` runs the first.
"""
