"""What each rank of several has of a graph's values, operator by operator."""
