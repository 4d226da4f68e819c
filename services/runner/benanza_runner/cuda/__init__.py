"""Layers on an NVIDIA GPU, through cuDNN, cuBLASLt and generated CuPy kernels.

A layer is *lowered* to one call, which says in plain numbers what a library is asked for. Each
library offers *candidates*, which are ways of running a call. The search checks and times them.
Lowering and the search need no GPU, and nothing outside this package imports CuPy.
"""
