"""What the weights in a model's file hold."""
