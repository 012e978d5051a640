"""The management commands, and what they share."""
