"""django-paystack-wallet 1.0.0: its own callback view, its own webhook view, its own signal.

Its documentation has each payment start as a deposit into the payer's wallet, and the value given
by a receiver of `deposit_completed`. Every payer here has a wallet of their own, so that no two
wait for one row. The package asks the service once more for each callback that is not settled.
"""
