"""The commands, a file each. What takes long to import is imported where it is used."""
