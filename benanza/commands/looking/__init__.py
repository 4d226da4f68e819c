"""The commands for looking, a file each."""
