"""The small site that each row of the table makes another of."""
