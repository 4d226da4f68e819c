"""Predicted bounds against those that were measured on the GPUs that they are predicted for."""
