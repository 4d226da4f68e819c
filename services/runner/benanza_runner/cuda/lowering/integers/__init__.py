"""Products of integers or floats of few bits, and of weights that are kept in few bits."""
