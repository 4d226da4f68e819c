"""Layers run by OpenVINO."""
