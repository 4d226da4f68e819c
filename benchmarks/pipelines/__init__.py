"""What pitfalls of pipelines cost a small model: the data, the model, and the table of the docs."""
