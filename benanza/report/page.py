"""The page of a report: one HTML file that needs no network, made of the files in `templates`."""

import base64
import gzip
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import plotly.graph_objects as go
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from benanza.installation.commit import built_from
from benanza.profiling.chrome_trace import chrome_trace
from benanza.render.units import named_sizes, plural
from benanza.report import answer, ladder, remedies, tables
from benanza.report.content import ReportedBound
from benanza.report.figures.flame import flame
from benanza.report.figures.memory import memory
from benanza.report.figures.roofline import roofline
from benanza.report.figures.style import hover
from benanza.report.figures.timeline import timeline
from benanza.report.graph import graph
from benanza.report.kinds import COLOURS
from benanza.report.nodes import nodes_of
from benanza.report.sweeps import figures_of, sweeps_of
from benanza.report.terms import TERMS, anchor
from benanza.results.explain import Explanation
from benanza_backbone.clock import now
from benanza_schemas.events import Limit

FOLDER = Path(__file__).parent

VENDORED = FOLDER / "vendored"
"""dagre 3.1.3 of the npm package @dagrejs/dagre, which lays out graphs, and its licence, MIT."""

LIMITS: dict[Limit, str] = {
    "cache": "the bandwidth of the last cache",
    "memory": "the bandwidth of the memory",
    "compute": "the rate of operations",
    "latency": "calls one after the other",
}
"""What the ceilings are called."""

DIGITS = 7
"""More than any measurement has."""

ANSWERED = 3
"""Of so many bounds the answers stand at the top; of more, one sentence."""


def page(
    bounds: Sequence[ReportedBound], price_per_hour: float | None, at: datetime | None = None
) -> str:
    """The report as the text of an HTML file, made at this time, now if not said.

    With the price of an hour of the device, it says what a million samples cost at the bound.
    """
    sweeps = [(sweep.title, list(figures_of(sweep))) for sweep in sweeps_of(bounds)]
    sweeps = [(title, drawn) for title, drawn in sweeps if drawn]
    data = {
        f"sweep-{number}": packed_data(title, {name: of for name, _, of in drawn}, {})
        for number, (title, drawn) in enumerate(sweeps)
    }
    data |= {f"bound-{number}": _of_bound(of) for number, of in enumerate(bounds) if of.known}
    models = list(dict.fromkeys(of.bound.model_id for of in bounds if of.known))
    for number, model_id in enumerate(models):
        nodes = nodes_of(next(of for of in bounds if of.bound.model_id == model_id))
        shown = nodes._asdict() | nodes.arrows._asdict()
        data[f"nodes-{number}"] = packed(msgspec.json.encode(shown).decode())
    few = len(bounds) <= ANSWERED
    return rendered(
        "report.html.jinja",
        at,
        data=data,
        models=list(dict.fromkeys(reported.bound.model for reported in bounds)),
        lead="" if few else answer.overall(bounds),
        answered=bounds if few else (),
        bounds=bounds,
        numbers={reported.title: number for number, reported in enumerate(bounds)},
        nodes={model_id: number for number, model_id in enumerate(models)},
        contents=tables.contents(bounds),
        sweeps=sweeps,
        facts={reported.title: _facts(reported, price_per_hour) for reported in bounds},
    )


def rendered(template: str, at: datetime | None, **context: object) -> str:
    """A page of `templates` with what all pages have: scripts, style, terms, date and version."""
    environment = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["anchor"] = anchor
    return environment.get_template(template).render(
        **context,
        style=_file("style.css"),
        script=Markup("\n").join(map(_file, ("page.js", "table.js", "graph.js", "nodes.js"))),
        scripts={"plotly": packed(get_plotlyjs()), "dagre": packed(_dagre())},
        version=version("benanza"),
        commit=built_from(),
        at=at or now(),
        terms=TERMS,
        colours=COLOURS,
        answer=answer,
        ladder=ladder.ladder,
        remedies=remedies,
    )


def _dagre() -> str:
    """Its script, which the licence goes with."""
    code, text = (
        (VENDORED / name).read_text("utf-8") for name in ("dagre.min.js", "dagre.LICENSE")
    )
    return f"/*\n{text}*/\n{code}"


def packed(text: str) -> Markup:
    """What a page unpacks: a text compressed by gzip, in Base85 with a comma in place of the `<`,
    with which HTML might begin.
    """
    compressed = gzip.compress(text.encode(), 9, mtime=0)
    return Markup(base64.b85encode(compressed).decode().replace("<", ","))


def _file(name: str) -> Markup:
    return Markup((FOLDER / "templates" / name).read_text("utf-8"))


def packed_data(
    name: str,
    drawn: Mapping[str, go.Figure],
    shown: Mapping[str, tables.SortedTable],
    **more: object,
) -> Markup:
    """What the page draws of a part once a reader opens it: figures and tables by their names.
    Files that a reader saves begin with `name`.
    """
    data = {
        "name": name,
        "figures": {each: msgspec.json.decode(of.to_json()) for each, of in drawn.items()},
        "tables": {
            each: of._asdict() | {"columns": [column._asdict() for column in of.columns]}
            for each, of in shown.items()
        },
        **more,
    }
    return packed(msgspec.json.encode(_rounded(data)).decode())


def _rounded(value: Any) -> Any:
    """The same with numbers to `DIGITS`: all of them would be a fifth of the data."""
    match value:
        case float():
            return float(f"{value:.{DIGITS}g}")
        case list() | tuple():
            return [_rounded(each) for each in value]
        case dict():
            return {key: _rounded(each) for key, each in value.items()}
    return value


def _of_bound(reported: ReportedBound) -> Markup:
    timed = reported.timed
    calls = graph(reported)
    explanation = Explanation(bound=reported.bound, calls=reported.calls)
    return packed_data(
        reported.title,
        {
            "timeline": timeline(reported),
            "flame": flame(reported),
            "roofline": roofline(reported),
            **({"memory": memory(reported.calls)} if reported.knows_memory else {}),
        },
        {"calls": tables.calls_of(reported), "runs": tables.runs_of(reported)},
        graph={"boxes": [box._asdict() for box in calls.boxes], **calls.arrows._asdict()},
        trace=msgspec.json.decode(chrome_trace([timed] if timed else [], [explanation])),
        hovers=list(map(hover, reported.calls)),
    )


def _facts(reported: ReportedBound, price_per_hour: float | None) -> dict[str, str]:
    """The figures of the bound, how sure they are, and where they come from."""
    bound, system = reported.bound, reported.system
    first, last = (f"{time:%Y-%m-%d %H:%M} UTC" for time in reported.measured)
    coverage = bound.coverage
    cost = (
        {}
        if price_per_hour is None
        else {
            "price": answer.cost_text(
                bound.batch, bound.sequential_us, price_per_hour, partial=bound.partial
            )
        }
    )
    return {
        "sequential bound": _time(bound.sequential_us, bound.sequential_spread_us),
        "parallel bound": _time(bound.parallel_us, bound.parallel_spread_us),
        "attainable estimate": _time(bound.attainable_us, bound.attainable_error_us or None),
        "speed of light": _time(bound.roofline_us, None)
        + (f", held by {LIMITS[bound.limited_by]}" if bound.limited_by else ""),
        "at the sequential bound": answer.rate_text(
            bound.batch, bound.sequential_us, partial=bound.partial
        ),
        **cost,
        "coverage": f"{plural(coverage.measured, 'layer')} measured, {coverage.free} free, "
        f"{coverage.not_counted} not counted, {len(coverage.missing)} missing"
        + (", so the bound is partial" if bound.partial else ""),
        "layers": f"{plural(bound.layers, 'layer')}, {bound.unique_layers:,} of them unique",
        "dimensions": named_sizes(bound.dims) or "none but the batch",
        "timed on a busy or slowed-down device": f"{plural(bound.slowed.calls, 'call')}"
        + (f" ({', '.join(bound.slowed.by)})" if bound.slowed.calls else ""),
        "runs below the bound, which prove it wrong": ", ".join(
            f"{run.run_as}: {run.run_us:,.1f} µs" for run in bound.beaten_by
        )
        or "none",
        "measured by": f"{system.runtime}, {_versions(reported)}",
        "measured on": f"{reported.device}, {plural(system.threads, 'thread')}",
        "measured at": first if first == last else f"{first} to {last}",
        "ids": f"model {bound.model_id}, system {bound.system_id}",
    }


def _time(us: float | None, spread_us: float | None) -> str:
    if us is None:
        return answer.UNKNOWN
    return f"{us:,.1f} µs" + ("" if spread_us is None else f" ± {spread_us:,.1f}")


def _versions(reported: ReportedBound) -> str:
    system = reported.system
    named = {"driver": system.driver, "CUDA": system.cuda, "cuDNN": system.cudnn}
    versions = named | {"cuBLAS": system.cublas} | system.libraries
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version)
