"""Importing: measurements that were recorded elsewhere."""
