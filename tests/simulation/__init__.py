"""A simulation of the whole stream: the services' own code over a log, a store and clocks that a
seed disturbs."""
