"""The Python API: the words of the command line, returning typed objects.

What takes long to import is imported where it is used, so that `import benanza` is quick.
"""

from benanza.api.answers import advise, explain, generation, what_if, what_if_quantised
from benanza.api.common import ModelSource, Values
from benanza.api.files import (
    import_recording,
    inspect,
    inspect_weights,
    publish,
    query,
    trace,
    write_report,
)
from benanza.api.known import bounds, compare, history, layers, status
from benanza.api.measuring import evaluate, gate, lower_bound, profile
from benanza_backbone.errors import BenanzaError

__all__ = [
    "BenanzaError",
    "ModelSource",
    "Values",
    "advise",
    "bounds",
    "compare",
    "evaluate",
    "explain",
    "gate",
    "generation",
    "history",
    "import_recording",
    "inspect",
    "inspect_weights",
    "layers",
    "lower_bound",
    "profile",
    "publish",
    "query",
    "status",
    "trace",
    "what_if",
    "what_if_quantised",
    "write_report",
]
