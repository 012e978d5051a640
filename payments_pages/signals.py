"""Signals about what has been committed. An error of a receiver changes nothing.

Each is sent after the commit, with `send_robust`; `sender` is the model class.

- `transaction_confirmed`: `transaction`, its status is success for the first time.
- `transaction_changed`: `transaction`, `previous` (text), its status has changed.
- `fulfilment_delivered`: `fulfilment`, the handler has delivered.
- `fulfilment_failed`: `fulfilment`, the handler raised; it will be tried again.
- `service_event`: `reference` and `event` (texts), `transaction` or None: a signed webhook named a
  reference that this site knows. `event` is the name that the service gives it, such as
  `refund.processed`; nothing else of its body is passed on. Sent once for each time that it comes.
- `fulfilment_held`: `fulfilment`, staff must look at it; not sent for a page that another site sells, and
  only after ten minutes if nothing says what was paid for, because the payer may still come back.
"""

from django.dispatch import Signal

__all__ = [
    "fulfilment_delivered",
    "fulfilment_failed",
    "fulfilment_held",
    "service_event",
    "transaction_changed",
    "transaction_confirmed",
]

transaction_confirmed = Signal()
transaction_changed = Signal()
fulfilment_delivered = Signal()
fulfilment_failed = Signal()
fulfilment_held = Signal()
service_event = Signal()
