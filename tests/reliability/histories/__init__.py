"""Histories of payments, some spoilt on purpose, for the checker of the torture to judge."""
