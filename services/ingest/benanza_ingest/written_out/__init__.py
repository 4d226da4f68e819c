"""Operators that are written with others, of which libraries run each."""
