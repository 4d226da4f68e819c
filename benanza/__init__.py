"""How fast a deep-learning model could run on this machine, and what stands in between."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benanza.api import (
        advise,
        bounds,
        compare,
        evaluate,
        explain,
        gate,
        generation,
        history,
        import_recording,
        inspect,
        layers,
        lower_bound,
        profile,
        publish,
        query,
        status,
        trace,
        what_if,
        what_if_quantised,
        write_report,
    )
    from benanza_backbone.errors import BenanzaError

__all__ = [
    "BenanzaError",
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


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def __getattr__(name: str) -> object:
    """What the package exports, imported when it is first used: the command line needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from benanza import api

    return getattr(api, name)
