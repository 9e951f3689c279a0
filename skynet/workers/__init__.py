"""Isolated processes that run the user's code: a template, the workers forked from it, and the pool that lends them."""
