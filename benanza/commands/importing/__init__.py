"""The commands for importing, a file each."""
