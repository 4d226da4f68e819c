"""The pages of docs/: what stands there works, and the site that is made of them."""
