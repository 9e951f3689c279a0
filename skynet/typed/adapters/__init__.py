"""Metrics of other tools, recognised by their shape: nothing is imported that the user has not imported."""
