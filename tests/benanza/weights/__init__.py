"""The store of weights."""
