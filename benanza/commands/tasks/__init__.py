"""The commands for tasks and their solutions."""
