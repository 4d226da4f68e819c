"""Calls that run as several, one after the other."""
