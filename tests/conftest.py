"""What all tests share: how Hypothesis runs."""

from hypothesis import settings

# A shared machine may take its time over any one example; a failure says how to repeat it.
settings.register_profile("benanza", deadline=None, print_blob=True)
settings.load_profile("benanza")
