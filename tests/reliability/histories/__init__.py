"""Histories of payments, some with faults on purpose, that the torture's checker must judge."""
