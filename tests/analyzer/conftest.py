"""Hypothesis without a deadline for each example: a busy machine is no defect."""

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
