"""What the commands and the Python API give back: typed, and as the JSON documents.

`to_dict()` of each is the document that the command prints with `--format json`. Times are
microseconds, named `…_us`; a figure that cannot be had is `None`, never zero.
"""
