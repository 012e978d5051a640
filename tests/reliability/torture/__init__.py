"""Torture the path: kill processes and databases at random, then count what was lost or doubled.

    python -m tests.reliability.torture --seconds 20 --database postgresql --handler atomic

Everything is this run's own and on loopback: sandbox, workers, database server, folder.
"""
