"""The store of weights: one copy of a model's weights for all processes of a machine."""
