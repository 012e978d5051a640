"""Hold the commands: each as thin as a view."""
