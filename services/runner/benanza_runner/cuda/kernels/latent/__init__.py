"""Attention to vectors that are keys and, in their first part, values, as DeepSeek keeps them."""
