"""The peers: each wired to the same service, database and driver, the way its documentation says.

They run in an environment of their own, made from requirements.txt. What is ours here is the glue
that each of them asks the merchant to write.
"""
