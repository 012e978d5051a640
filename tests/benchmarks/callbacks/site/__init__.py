"""What every site of the benchmark has in common; each runs in its own processes and settings."""
