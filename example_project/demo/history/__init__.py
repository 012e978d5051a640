"""Give the shop a past: a month of sales, and one of everything that staff must know.

Nothing is written into the tables: payers pay at the sandbox, the references go through the
path, staff decide, pages are changed at the service. So what the admin shows is what it would
show of a real shop.
"""

from example_project.demo.history.telling import tell

__all__ = ["tell"]
