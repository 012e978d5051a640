"""Tags for the templates of the admin."""

__all__ = []  # Django loads the modules beside this one by name
