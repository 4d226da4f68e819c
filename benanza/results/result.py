"""What all results have."""

import html
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from benanza_backbone.document import Document

if TYPE_CHECKING:
    from pandas import DataFrame

SHOWN_BY: dict[type["Result"], Callable[[Any], str]] = {}
"""What gives the HTML that a notebook shows for a result. `benanza.render.notebook` fills it in, so
that results know no renderer.
"""


class Result(Document, frozen=True, kw_only=True):
    """What a command or a function of the Python API gives back."""

    _rows: ClassVar[str] = ""
    """Where its rows are, for `to_pandas`: `explanations.calls`, say. Empty: it is one itself."""

    def to_pandas(self) -> "DataFrame":
        """The result as a table of pandas, with a row for each entry of its list: each bound, each
        call of an explanation, each what-if. Fields of nested structures are columns such as
        `bound.model`.

        Raises `BenanzaError` without the extra `pandas`.
        """
        from benanza.querying.frames import frame

        return frame(self, self._rows)

    def _repr_html_(self) -> str:
        """What a notebook shows: a table, or the fields where nothing makes one of them."""
        show = SHOWN_BY.get(type(self))
        return show(self) if show else f"<pre>{html.escape(repr(self))}</pre>"
