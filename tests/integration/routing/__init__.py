"""Several databases: a replica that is behind, and an alias of the app's own."""
