"""The rules by which variants of a layer are timed, apart from what runs them.

Nothing here knows a GPU or reads a clock. A timer is a function that does some work once and
returns how long the work took, so every rule is tested with made-up timers.
"""
