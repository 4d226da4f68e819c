"""SQL of a user, and tables for pandas."""
