"""Finds regions: parts of the graph that one generated kernel can compute.

`fusible` says what each operator does in a region, `partition` divides the fusible layers by what a
loop can go over, with `levels` and `flow`, and `propose` adds what is left without the ends.
"""
