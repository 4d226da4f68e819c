"""How variants of a layer are timed, apart from what runs them.

Nothing here knows a GPU or reads a clock: a timer is a function that does some work once and
says how long it took. So every rule is tested with timers that are made up.
"""
