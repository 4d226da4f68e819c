"""The speed of light: what no kernel can be faster than."""
