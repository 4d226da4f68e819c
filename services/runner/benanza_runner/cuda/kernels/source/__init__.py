"""CUDA C++ of kernels and their parts, as text. It needs neither CuPy nor a GPU."""
