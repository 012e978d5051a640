"""Benchmarks: commands that print a table, on loopback and within bounds.

    python -m tests.benchmarks            callbacks against the floor and the peers: docs/speed.md
    python -m tests.benchmarks.growth     what a million payments do to lists and the path: docs/growth.md

`make bench` runs the first.
"""
