"""Test the example shop."""
