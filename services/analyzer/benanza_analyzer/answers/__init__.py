"""Answers: what a bound consists of, and what it would be under other policies."""
