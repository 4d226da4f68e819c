"""Operating: what services could not do, what they do again, and whether they can start."""
