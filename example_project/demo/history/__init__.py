"""Give the shop a past: a month of sales, and one of everything that staff must know.

Payers pay at the sandbox, the references go through the path, staff decide, pages are changed at
the service: what the admin shows is what it would show of a real shop. Only the times are set back
afterwards (`clock`), for all of it happens within a minute.
"""

from example_project.demo.history.telling import tell

__all__ = ["tell"]
