"""paystack-django 2.0.1: its client in a view of ours, its own webhook view, its own signal.

It ships no callback view; its quick start says to call `transactions.verify` and, on "success", to
update your database. That is what the view here does, with the package's own model to remember
what is done. Its webhook gives the value in a receiver of `paystack_payment_successful`, and asks
nobody: it trusts the signed body.
"""
