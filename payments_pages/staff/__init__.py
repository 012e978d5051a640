"""What the merchant's people do: decide about held payments, count, export, grant roles, forget.

No HTML here: the admin and the commands call these functions.
"""
