"""What calls mean, in NumPy."""
