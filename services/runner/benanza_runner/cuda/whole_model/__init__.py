"""Whole models, each call reading what another wrote."""
