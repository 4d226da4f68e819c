"""Layers on an NVIDIA GPU, through cuDNN, cuBLASLt and generated CuPy kernels.

A layer is *lowered* to one call, which says in plain numbers what a library is asked for. Each
library offers *candidates*, ways of running a call; the runtime checks and times them.
Lowering needs no GPU, and nothing outside this package knows CuPy.
"""
