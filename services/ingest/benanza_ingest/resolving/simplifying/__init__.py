"""Leaves out of a graph what no framework has to run: what is there twice, and what others undo.

ONNX Runtime does so by default, and a bound from below that counts each copy lies above its runs.
`once` finds nodes that repeat others or change nothing, `transposes` those that cancel each other;
`simplify` applies them until nothing more is left out.
"""
