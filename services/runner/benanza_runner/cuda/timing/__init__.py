"""How long calls take on the device: alone, interleaved with other kernels, and their overhead."""
