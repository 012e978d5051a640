"""Run the whole story on one machine: sandbox, site and sweep, each its own process.

`make demo` keeps running for a person; `make demo ARGS=--once` buys once by itself and checks.
"""
