"""oneDNN's primitives on a CPU, through its C API: layers as calls of this library."""
