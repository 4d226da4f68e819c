"""Layers turned into calls: what a library is asked for, in plain numbers."""
