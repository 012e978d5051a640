"""Hold the commands."""
