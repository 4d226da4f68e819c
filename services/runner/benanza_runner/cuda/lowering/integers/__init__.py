"""Products of integers of few bits, and of weights that are kept in few bits."""
