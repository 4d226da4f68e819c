"""How figures look, and what they say of calls. Plotly's text takes the page's colours."""

from typing import Any

import plotly.graph_objects as go

from benanza.render.table import operators
from benanza.report.kinds import COLOURS, kind_of_call
from benanza.results.explain import ExplainedCall

GRID = "rgba(128,136,144,0.3)"
BOUND, FRAMEWORK, LIMIT, SAVED, OTHER = "#2f6fb7", "#c4531d", "#6a5fb0", "#188561", "#77777f"

LABEL = 36
"""So many characters of an operator's name are shown in a figure."""


def hover(call: ExplainedCall) -> str:
    """What is said of a call where the mouse is over it."""
    layer = escaped(call.layers[0][:60]) if call.layers else ""
    lines = [
        f"<b>{escaped(operators(call.op)[:LABEL])}</b>",
        layer + (f" and {len(call.layers) - 1} more" if len(call.layers) > 1 else ""),
        f"{took(call):,.2f} µs, {call.share:.1%} of the bound",
        ": ".join(filter(None, (call.library, escaped(call.algorithm[:70])))),
    ]
    return "<br>".join(filter(None, lines))


def took(call: ExplainedCall) -> float:
    """How long a call takes with the conversions of layouts, in microseconds."""
    return call.us + call.conversion_us


def telling_operator(op: str) -> str:
    """The first operator of a call that says what it is."""
    names = op.split("+")
    kinds = [kind_of_call(name) for name in names]
    order = list(COLOURS)
    telling = min(range(len(names)), key=lambda place: (order.index(kinds[place]), place))
    return escaped(names[telling][:LABEL])


def escaped(text: str) -> str:
    """Plotly takes some tags of HTML for markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def styled(figure: go.Figure) -> go.Figure:
    """The figure as all of a report look."""
    style: dict[str, Any] = {
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": "system-ui, sans-serif", "size": 13},
        "margin": {"l": 60, "r": 10, "t": 20, "b": 50},
        "hoverlabel": {"align": "left"},
    }
    figure.update_layout(template="none", **style)
    figure.update_layout(legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0})
    figure.update_xaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True, title_font_size=13)
    figure.update_yaxes(gridcolor=GRID, zerolinecolor=GRID, automargin=True, title_font_size=13)
    return figure
