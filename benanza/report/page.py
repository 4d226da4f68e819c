"""The page of a report: one HTML file that needs no network. Figures are Plotly's, tables those of
DataTables by itables.
"""

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

import itables
import itables.javascript
import pandas as pd
import plotly.graph_objects as go
from plotly.offline import get_plotlyjs

from benanza.render.answers.advise import operators_of
from benanza.render.table import operators
from benanza.render.units import named_sizes, plural
from benanza.report import figures
from benanza.report.content import ReportedBound
from benanza.report.sweeps import Sweep, figures_of, sweeps_of
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_schemas.events import Limit

MILLION = 1e6

TABLES = Path(itables.__file__).parent / "html" / "dt_bundle.js"

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 1100px; padding: 0 12px; }
h1, h2 { line-height: 1.2; overflow-wrap: anywhere; }
section { border-top: 1px solid #8888; margin-top: 2rem; }
.wide, figure { max-width: 100%; overflow-x: auto; }
figure { margin: 1rem 0; }
figcaption { font-size: 0.9em; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; }
dt { opacity: 0.75; }
dd { margin: 0; overflow-wrap: anywhere; }
button { font: inherit; font-size: 0.8em; }
table.dataTable td, table.dataTable th { text-align: left; }
@media (max-width: 500px) { dl { grid-template-columns: 1fr; } dd { margin-bottom: 0.5rem; } }
@media print { button { display: none; } figure, tr { break-inside: avoid; } }
"""

SCRIPT = """
const dark = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark", dark.matches);
dark.addEventListener("change", follow);
follow();
function save(button, format) {
  const plot = button.closest("figure").querySelector(".plotly-graph-div");
  Plotly.downloadImage(plot, {format: format, filename: plot.closest("figure").dataset.name});
}
"""


def page(bounds: Sequence[ReportedBound], price_per_hour: float | None) -> str:
    """The report as the text of an HTML file.

    With the price of an hour of the device, it says what a million samples cost at the bound.
    """
    models = ", ".join(dict.fromkeys(reported.bound.model for reported in bounds))
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Benanza: {escape(models)}</title>",
        f"<style>{STYLE}</style>",
        f"<script>{get_plotlyjs()}</script><script>{SCRIPT}</script>",
        "</head><body>",
        itables.javascript.generate_init_offline_itables_html(TABLES),
        f"<h1>How fast could they run? {escape(models)}</h1>",
        _figure(
            "overview", "Bounds, speeds of light and runs by frameworks", figures.overview(bounds)
        ),
    ]
    for number, sweep in enumerate(sweeps_of(bounds)):
        parts += _of_sweep(number, sweep)
    for number, reported in enumerate(bounds):
        parts += _section(number, reported, price_per_hour)
    return "\n".join([*parts, "</body></html>\n"])


def _of_sweep(number: int, sweep: Sweep) -> Iterator[str]:
    yield f"<section><h2>{escape(sweep.title)}: what its tokens take</h2>"
    for name, title, figure in figures_of(sweep):
        yield _figure(f"{name}-{number}", title, figure)
    yield "</section>"


def _section(number: int, reported: ReportedBound, price_per_hour: float | None) -> Iterator[str]:
    yield f"<section><h2>{escape(reported.title)}</h2>"
    yield _facts(reported, price_per_hour)
    for name, title, figure in (
        ("ladder", "From what was measured to the bound", figures.ladder(reported)),
        (
            "timeline",
            "Calls one after the other; blue ones are critical",
            figures.timeline(reported),
        ),
        ("roofline", "Rates of calls; larger ones take longer", figures.roofline(reported)),
        ("graph", "What reads from what; the critical path is blue", figures.graph(reported)),
    ):
        yield _figure(f"{name}-{number}", title, figure)
    for title, table in (
        ("What helps", _advice(reported)),
        ("Calls of the bound", _calls(reported)),
    ):
        if len(table):
            yield f"<h3>{title}</h3>{_table(table)}"
    yield "</section>"


def _figure(name: str, title: str, figure: go.Figure) -> str:
    drawn = figure.to_html(
        full_html=False,
        include_plotlyjs=False,
        div_id=name,
        config={"responsive": True, "displayModeBar": False},
    )
    buttons = " ".join(
        f"<button onclick=\"save(this, '{image_format}')\">{image_format.upper()}</button>"
        for image_format in ("png", "svg")
    )
    caption = f"<figcaption>{escape(title)} {buttons}</figcaption>"
    return f'<figure id="figure-{name}" data-name="{name}">{caption}{drawn}</figure>'


def _table(table: pd.DataFrame) -> str:
    drawn = itables.to_html_datatable(
        table,
        connected=False,
        display_logo_when_loading=False,
        showIndex=False,
        lengthMenu=[20, 50, 100, -1],
        maxBytes=0,
        order=[],
    )
    return f'<div class="wide">{drawn}</div>'


def _facts(reported: ReportedBound, price_per_hour: float | None) -> str:
    """The figures of the bound, how sure they are, and where they come from."""
    bound, system = reported.bound, reported.system
    first, last = (f"{time:%Y-%m-%d %H:%M} UTC" for time in reported.measured)
    coverage = bound.coverage
    facts = {
        "sequential bound": _time(bound.sequential_us, bound.sequential_spread_us),
        "parallel bound": _time(bound.parallel_us, bound.parallel_spread_us),
        "speed of light": _speed_of_light(bound),
        "at the sequential bound": _rate(bound.batch, bound.sequential_us, price_per_hour),
        "coverage": f"{plural(coverage.measured, 'layer')} measured, {coverage.free} free, "
        f"{coverage.not_counted} not counted, {len(coverage.missing)} missing"
        + (", so the bound is partial" if bound.partial else ""),
        "layers": f"{plural(bound.layers, 'layer')}, {bound.unique_layers} of them differ",
        "dimensions": named_sizes(bound.dims) or "none but the batch",
        "timed on a busy or slowed-down device": f"{plural(bound.slowed.calls, 'call')}"
        + (f" ({', '.join(bound.slowed.by)})" if bound.slowed.calls else ""),
        "runs below the bound, which is wrong then": ", ".join(
            f"{run.run_as}: {run.run_us:,.1f} µs" for run in bound.beaten_by
        )
        or "none",
        "measured by": f"{system.runtime}, {_versions(reported)}",
        "measured on": f"{system.accelerator or system.cpu}, {plural(system.threads, 'thread')}",
        "measured at": first if first == last else f"{first} to {last}",
        "ids": f"model {bound.model_id}, system {bound.system_id}",
    }
    rows = "".join(f"<dt>{escape(n)}</dt><dd>{escape(text)}</dd>" for n, text in facts.items())
    return f"<dl>{rows}</dl>"


def _time(us: float | None, spread_us: float | None) -> str:
    if us is None:
        return "not known"
    return f"{us:,.1f} µs" + ("" if spread_us is None else f" ± {spread_us:,.1f}")


def _rate(batch: int, us: float | None, price_per_hour: float | None) -> str:
    if not us:
        return "not known"
    rate = f"{batch * MILLION / us:,.1f} samples a second"
    if price_per_hour is None:
        return rate
    cost = us / batch / 3600 * price_per_hour
    return f"{rate}, {cost:,.2f} for a million samples at {price_per_hour:g} an hour"


def _versions(reported: ReportedBound) -> str:
    system = reported.system
    named = {"driver": system.driver, "CUDA": system.cuda, "cuDNN": system.cudnn}
    versions = named | {"cuBLAS": system.cublas} | system.libraries
    return ", ".join(f"{name} {version}" for name, version in versions.items() if version)


def _or_dash(value: float | None, digits: int) -> float | str:
    """A number for the table; a dash where there is none."""
    return "-" if value is None else round(value, digits)


def _advice(reported: ReportedBound) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "run": f"{run.profile.framework}, {run.profile.configuration}",
                "where": advice.what,
                "operators": operators_of(advice),
                "saves µs": round(advice.saved_us, 1),
                "of the run": round(advice.share, 3),
                "what to do": advice.do,
                "seen µs": _or_dash(advice.seen_us, 1),
                "layers": ", ".join(advice.layers),
            }
            for run in reported.runs
            for advice in run.advice
        ]
    )


LIMITS: dict[Limit, str] = {
    "cache": "the bandwidth of the last cache",
    "memory": "the bandwidth of the memory",
    "compute": "the rate of operations",
    "latency": "calls one after the other",
}
"""What the ceilings are called."""


def _speed_of_light(bound: ModelBound) -> str:
    """The figure, and which ceiling holds it."""
    held = f", held by {LIMITS[bound.limited_by]}" if bound.limited_by else ""
    return _time(bound.roofline_us, None) + held


def _calls(reported: ReportedBound) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {
                "layers": ", ".join(call.layers[:2]) + (" …" if len(call.layers) > 2 else ""),
                "operators": operators(call.op),
                "µs": round(call.us, 2),
                "± µs": round(call.iqr_us, 2),
                "conversion µs": round(call.conversion_us, 2),
                "of the bound": round(call.share, 4),
                "library": call.library,
                "algorithm": call.algorithm,
                "layout": call.layout,
                "GFLOP/s": _or_dash(call.flops / call.us / 1e3 if call.us else None, 1),
                "GB/s": _or_dash(call.bytes / call.us / 1e3 if call.us else None, 1),
                "of the speed of light": _or_dash(
                    call.roofline_us / call.us if call.roofline_us and call.us else None, 3
                ),
                "limited by": call.limited_by or "",
                "critical": "yes" if call.critical else "",
            }
            for call in reported.calls
        ]
    )
