"""Data sets of images with classes."""
