"""Suites of DLBricks: networks that make up models, to be timed elsewhere."""
