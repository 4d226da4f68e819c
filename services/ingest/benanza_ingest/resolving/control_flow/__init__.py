"""Puts bodies of control-flow operators in the place of these."""
