"""Attention, of graphs and of operators, as calls."""
