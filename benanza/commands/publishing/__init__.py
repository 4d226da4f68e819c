"""The commands for publishing, a file each."""
