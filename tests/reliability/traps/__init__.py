"""The eight traps that a payment integration falls into on some database."""
