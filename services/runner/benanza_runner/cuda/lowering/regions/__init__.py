"""Regions: layers of several operators, one of them after another as values of one kernel."""
