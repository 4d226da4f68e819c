"""Matrix products, convolutions and attention, with what libraries fuse before and after them."""
