"""A planted key and card code are looked for wherever text of ours can end up (case C19)."""
