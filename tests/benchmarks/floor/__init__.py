"""The floor: the least that a callback can do, in a bare Django view. Unsafe on purpose.

It delivers a second time to whoever reloads, believes whatever the service's answer looks like,
and loses the payment when the process dies. Nobody can do the work for less; the question is
what safety adds.
"""
