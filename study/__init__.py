"""The study: what holds over a population of models."""
