"""Measure callbacks, webhooks and result pages: the floor, ours and the peers, in one run."""
