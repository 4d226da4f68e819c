"""Pipelines: a model with all that is done before and after it, specified and repeated."""
