"""Sources of kernels of attention."""
