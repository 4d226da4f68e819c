"""Lower bounds of models from the measurements of their layers. Start at `core.Analyzer`."""
