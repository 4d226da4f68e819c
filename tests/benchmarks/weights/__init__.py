"""The store of weights as a process, and what its benchmark does to it."""
