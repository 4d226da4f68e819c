"""The commands, a file each, in folders by what a person does.

What takes long to import is imported where it is used.
"""
