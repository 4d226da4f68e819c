"""How fast a deep-learning model could run on this machine, and what stands in between."""

from benanza_backbone.errors import BenanzaError

from benanza.api import inspect, lower_bound

__all__ = ["BenanzaError", "inspect", "lower_bound"]
