"""The calls of a bound: what they read and give, from whom, and what is held in memory."""
