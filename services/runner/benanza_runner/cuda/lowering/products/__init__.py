"""Matrix products and convolutions, with what libraries fuse before and after them."""
