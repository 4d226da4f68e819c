"""Layers to jobs: of all the layers that models contain, those never seen before."""
