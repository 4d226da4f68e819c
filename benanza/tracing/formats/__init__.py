"""The formats that profilers write, as events of one kind."""
