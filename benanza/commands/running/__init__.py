"""The commands for running, a file each."""
