"""Tasks and their solutions."""
