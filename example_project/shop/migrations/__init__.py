"""Hold the shop's tables."""
