"""Whole models, in which each call reads what another wrote."""
