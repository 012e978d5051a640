"""The path is broken at each of its statements and commits in turn; the sweep puts all right."""
