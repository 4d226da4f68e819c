"""How long PyTorch takes for whole models on a GPU, beside the bounds of their exports."""
