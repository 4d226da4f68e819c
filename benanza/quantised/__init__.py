"""What quantising a model is worth, by bounds of it and of what it becomes."""
