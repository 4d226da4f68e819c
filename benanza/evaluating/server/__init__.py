"""The server of the scenario of that name: its rate, its overheads, and its simulation."""
