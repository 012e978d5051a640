"""django-payments 4.1.0: its own view, a provider of ours, its own signal.

It has no provider for this service. Its documentation has the merchant write one as a subclass of
`BasicProvider`, and give the value in a receiver of `status_changed`. The provider here keeps its
connections open, which the package's own do not.
"""
