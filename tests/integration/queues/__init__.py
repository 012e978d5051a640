"""Deliveries left to workers: what doors do, and what real brokers and killed workers change."""
