"""Load a whole site for a long time, and watch its memory and its connections."""
