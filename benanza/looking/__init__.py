"""Looking: the layers of a model, its bounds now and before, and what running a bound shows."""
