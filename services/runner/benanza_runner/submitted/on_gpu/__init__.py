"""Submitted kernels on an NVIDIA GPU: called as CUDA graphs, in a worker of their own."""
