"""Proposes groups of layers that a library or a generated kernel may run as one call.

A rule reads only the graph, and returns the positions of layers. Every group is convex: no path
leaves it and comes back. Regions and merged products may have several results, and parts that
aren't connected. Groups of the other rules, one per file, are connected and have one last
operator, and only the result of that is read outside.
"""
