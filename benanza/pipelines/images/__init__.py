"""What is made of image files: the steps, and what runs them."""
