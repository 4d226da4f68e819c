"""Layers timed in a worker process, which may crash, hang or run out of memory."""
