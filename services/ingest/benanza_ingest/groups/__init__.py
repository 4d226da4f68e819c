"""Proposes groups: layers that a library may run as one call. One rule a file.

A rule looks at the graph alone and returns positions of layers. Every group is connected, no
path leaves it and comes back, it has one last operator, and nobody outside reads a value
inside it.
"""
