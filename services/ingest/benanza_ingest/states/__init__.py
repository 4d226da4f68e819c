"""States of a model: what is an input and an output, changed in a few places."""
