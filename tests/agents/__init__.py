"""Campaigns of faults with agents that evaluate over a real broker."""
