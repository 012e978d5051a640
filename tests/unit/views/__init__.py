"""Every door leads into the same path: what all must do, and what each does by itself."""
