"""What an agent is: it announces itself, takes evaluations, and has processes do them."""
