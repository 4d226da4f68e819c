"""A report of models: one HTML file with figures and tables."""
