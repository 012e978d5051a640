"""Two rivals, and every ordered pair of their steps: no luck, no waiting for a rare moment."""
