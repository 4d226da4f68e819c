"""Follows another batch size through a model that was exported at a fixed one."""
