"""Layers to calls: what a library is asked for, in plain numbers. It needs no GPU."""
