"""Where things are installed."""
