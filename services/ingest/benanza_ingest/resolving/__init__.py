"""Resolves a decoded model into a graph of live nodes with types, constants and operators."""
