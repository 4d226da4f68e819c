"""The commands for operating, a file each."""
