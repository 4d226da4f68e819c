"""What every process does in which a submitted kernel runs."""
