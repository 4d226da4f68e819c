"""Gates: whether a framework's run is as near to its bound, or as fast, as it has to be."""
