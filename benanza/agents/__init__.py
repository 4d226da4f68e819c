"""Agents: processes that evaluate models for others, each on the device that it is at."""
