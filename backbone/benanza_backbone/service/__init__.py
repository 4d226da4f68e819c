"""What the process of every service is made of."""
