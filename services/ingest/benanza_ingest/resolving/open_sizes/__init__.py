"""Sizes of open dimensions that follow from others, from operators, and from what is declared."""
