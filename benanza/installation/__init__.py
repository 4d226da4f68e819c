"""The installation that the settings name: its event log and its store."""
