"""Commands about agents and what is asked of them."""
