"""dj-stripe 2.11.0, for its webhooks only: it speaks to another service.

Its own view, its own event model, its own handlers, which ask the service for the object that the
event names; the value is given in a receiver of that event. The answerer plays that service.
"""
