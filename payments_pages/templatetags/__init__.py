"""Offer what the templates of the admin need."""

__all__ = []  # the modules beside this one are loaded by name
