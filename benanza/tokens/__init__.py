"""What the tokens take that a decoder generates."""
