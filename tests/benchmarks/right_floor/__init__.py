"""The right floor: the least that a correct callback can do, by hand, for one table and one shop.

It claims the reference in a committed row, asks the service, and records the answer, the delivery
and the shop's row in one transaction. It delivers once, also to eight who come at the same moment
or if its process is killed. It is a limit, not a product: no pages, no admin, no other door.
"""
