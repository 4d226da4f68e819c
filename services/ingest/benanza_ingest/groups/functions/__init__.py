"""Functions that are written out, and that ONNX Runtime has one operator for.

Other rules propose as much as a generated kernel may compute; ONNX Runtime fuses only what stands
in its patterns, and some of it only for certain numbers: a Gelu for the root of 2, 1 and 0.5, a
norm with `1 / Sqrt` for 1. `propose` finds such functions, `join` keeps their numbers.
"""
