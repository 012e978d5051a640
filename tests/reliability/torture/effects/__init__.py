"""An app without rules that records, for the checker, what a run has done in the database."""
