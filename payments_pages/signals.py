"""Announce what has been committed. For onlookers only: a receiver's error changes nothing.

Every signal is sent after the commit, with `send_robust`, with `sender` the model class.

- `transaction_confirmed`: `transaction`, the service's success mirrored for the first time.
- `transaction_changed`: `transaction`, `previous` (text), a known status became another one.
- `fulfilment_delivered`: `fulfilment`, the value has been given.
- `fulfilment_failed`: `fulfilment`, the handler raised; it will be tried again.
- `fulfilment_held`: `fulfilment`, staff must look at it; not sent for what another site delivers.
"""

from django.dispatch import Signal

__all__ = [
    "fulfilment_delivered",
    "fulfilment_failed",
    "fulfilment_held",
    "transaction_changed",
    "transaction_confirmed",
]

transaction_confirmed = Signal()
transaction_changed = Signal()
fulfilment_delivered = Signal()
fulfilment_failed = Signal()
fulfilment_held = Signal()
