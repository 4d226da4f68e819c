"""Proposes groups of layers that a library may run as one call, by one rule per file.

A rule reads only the graph, and returns the positions of layers. Every group is connected, no path
leaves it and comes back, it has one last operator, and only the result of that is read outside.
"""
