"""How fast a deep-learning model could run on this machine, and what stands in between."""

from benanza.api import (
    advise,
    bounds,
    evaluate,
    explain,
    gate,
    generation,
    history,
    inspect,
    layers,
    lower_bound,
    profile,
    publish,
    status,
    trace,
    what_if,
    what_if_quantised,
)
from benanza_backbone.errors import BenanzaError

__all__ = [
    "BenanzaError",
    "advise",
    "bounds",
    "evaluate",
    "explain",
    "gate",
    "generation",
    "history",
    "inspect",
    "layers",
    "lower_bound",
    "profile",
    "publish",
    "status",
    "trace",
    "what_if",
    "what_if_quantised",
]
