"""What the services stand on: event log, store, settings, errors."""
