"""What a run leaves behind in the database, for the checker: an app without rules."""
