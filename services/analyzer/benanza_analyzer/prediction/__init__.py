"""Bounds of a GPU on which nothing was measured, from times that another one was measured with."""
