"""Commands for suites of networks."""
