"""Models in the form in which their bounds are computed."""
