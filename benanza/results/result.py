"""What all results have."""

import html
from collections.abc import Callable
from typing import Any

from benanza_backbone.document import Document

SHOWN_BY: dict[type["Result"], Callable[[Any], str]] = {}
"""What gives the HTML that a notebook shows for a result. `benanza.render.notebook` fills it in, so
that results know no renderer.
"""


class Result(Document, frozen=True, kw_only=True):
    """What a command or a function of the Python API gives back."""

    def _repr_html_(self) -> str:
        """What a notebook shows: a table, or the fields where nothing makes one of them."""
        show = SHOWN_BY.get(type(self))
        return show(self) if show else f"<pre>{html.escape(repr(self))}</pre>"
