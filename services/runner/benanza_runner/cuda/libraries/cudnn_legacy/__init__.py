"""cuDNN's legacy API: what a heuristic of its chooses, and calls that its graph API lacks."""
