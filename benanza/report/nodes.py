"""The nodes of a model, which the page shows of each call."""

from typing import NamedTuple

from benanza.looking.calls.forms import said
from benanza.report.content import ReportedBound
from benanza.report.graph import Arrows, arrows_between


class ModelNodes(NamedTuple):
    """The nodes of a model by their positions: operator, name, and the place of what is known of it
    in `forms`, None for what is never measured, such as a view. A form has attributes, what is
    read, constants, and what is given, each as text.
    """

    nodes: tuple[tuple[str, str, int | None], ...]
    forms: tuple[tuple[str, str, str, str], ...]
    arrows: Arrows


def nodes_of(reported: ReportedBound) -> ModelNodes:
    """The nodes of the bound's model, which all bounds of the model have in common."""
    places: dict[str, int] = {}
    forms: list[tuple[str, str, str, str]] = []
    nodes = []
    for node in reported.nodes:
        form = reported.forms.get(node.fingerprint)
        if form is not None and node.fingerprint not in places:
            places[node.fingerprint] = len(forms)
            attributes = form.attributes.removeprefix(f"{node.op} ")
            forms.append((attributes, said(form.reads), said(form.constants), said(form.gives)))
        nodes.append((node.op, node.name, places.get(node.fingerprint)))
    marks = [(node.op, node.fingerprint) for node in reported.nodes]
    return ModelNodes(tuple(nodes), tuple(forms), arrows_between(marks, reported.edges))
