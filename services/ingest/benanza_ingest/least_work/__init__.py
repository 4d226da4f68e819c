"""The least that a model's products do and read, whatever computes them."""
