"""Models that are made of others, as a graph: split over several GPUs."""
