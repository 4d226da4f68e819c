"""A walk through the pages: from an empty machine to services whose backup is restored.

    python -m tests.docs.walk

does it all: it copies the repository, installs it, and types what the pages show, in their order.
"""
