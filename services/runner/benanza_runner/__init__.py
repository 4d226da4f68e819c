"""Jobs to measurements: how long each layer takes on this machine. Start at `core.Runner`."""
