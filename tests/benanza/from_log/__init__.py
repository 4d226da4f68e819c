"""What is answered from the log alone."""
