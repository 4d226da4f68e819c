"""Groups of a simplified graph: equal layers are one, and what changes nothing is left out.

The graph itself keeps such layers: a copy of what works element by element may be joined with each
of its readers, and what was measured of the layers and groups of other models holds for it. So a
bound may take either.
"""
