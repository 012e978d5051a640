"""Sell through hosted payment pages; verify on the server; deliver exactly once."""

__version__ = "0.1.0"
