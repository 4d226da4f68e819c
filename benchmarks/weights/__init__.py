"""The store of weights: how soon a model answers, what it takes of memory, and what kills it."""
