"""What the suite sells: an app whose handler writes one row for each run."""
