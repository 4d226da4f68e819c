"""`benanza bounds --on`: bounds that are predicted for a GPU on which nothing was measured."""
