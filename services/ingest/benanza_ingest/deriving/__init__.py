"""Models derived from those that are written: quantised, or split over GPUs."""
