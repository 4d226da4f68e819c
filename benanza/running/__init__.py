"""Running: the embedded pipeline, which does all that the services do in one process."""
