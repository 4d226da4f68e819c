"""The folder in which the program has measured a model, as its own tests have it."""

from tests.benanza.conftest import data, first_run, program

__all__ = ["data", "first_run", "program"]
