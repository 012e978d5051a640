"""What differs between databases: their clock, short-lived errors, open transactions, locked rows.

This room knows no model. Its statements may not be sent while a transaction of the caller's that
they do not belong to is open; each function says so where it matters.
"""
