"""Jobs to measurements: what each layer takes on this machine. Start at `core.Runner`."""
