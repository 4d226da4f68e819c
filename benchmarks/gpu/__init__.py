"""The GPU runtime itself: what it can lower, what its search finds, and what it reaches."""
