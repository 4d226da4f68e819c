"""How fast a deep-learning model could run on this machine, and what stands in between."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benanza.api import *  # noqa: F403 - what `benanza.api.__all__` lists
    from benanza.api import __all__ as __all__


def __dir__() -> list[str]:
    return [*globals(), *import_module("benanza.api").__all__]


def __getattr__(name: str) -> object:
    """What `benanza.api` exports, and its `__all__`, imported when it is first used: the command
    line needs none.
    """
    # Python asks for others that begin so by itself, such as `__path__`.
    if name == "__all__" or not name.startswith("__"):
        api = import_module("benanza.api")
        if name in ("__all__", *api.__all__):
            return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
