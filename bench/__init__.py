"""Benchmarks: commands that print a table, on loopback and within bounds."""
