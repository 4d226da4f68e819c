"""PyTorch as a framework: models by name, their exports, and how long PyTorch runs them. Most of
it needs the extra `pytorch`.
"""
