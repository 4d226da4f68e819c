"""Layouts of feature maps: which ones a bound's calls have, and what conversions take."""
