"""Hold the shop's commands."""
