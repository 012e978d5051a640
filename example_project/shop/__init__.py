"""Sell what payment pages are paid for: a licence or a ticket per payment."""
