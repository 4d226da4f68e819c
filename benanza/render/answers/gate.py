"""Runs and the limits that they keep or don't, for people and as JUnit's XML."""

from rich.console import Console
from rich.text import Text

from benanza.gating.results import WORST_FIRST, Gate, GateCheck, GatedRun
from benanza.render.table import html, printable
from benanza.render.units import named_sizes, time_unit

_BESIDE = {"max-ratio": "the bound", "no-slower-than": "the earlier run"}


def print_gate(console: Console, gate: Gate) -> None:
    """Prints a line for each run."""
    for run in gate.runs:
        console.print(Text(line(run)))


def gate_html(gate: Gate) -> str:
    """Runs and their limits for a notebook."""
    return html([Text(line(run)) for run in gate.runs])


def line(run: GatedRun) -> str:
    """What comes of a run, the worst of its limits first."""
    verdicts = {check.verdict for check in run.checks}
    worst = next(verdict for verdict in WORST_FIRST if verdict in verdicts)
    checks = "; ".join(map(checked, run.checks))
    return printable(f"{worst}: {name(run)}, on {run.device}: {_took(run)}: {checks}")


def name(run: GatedRun) -> str:
    """The model and its sizes."""
    sizes = named_sizes(run.dims)
    dims = f", {sizes}" if sizes else ""
    return f"{run.model}, batch {run.batch}{dims}, {run.precision}"


def checked(check: GateCheck) -> str:
    """A limit and what comes of it."""
    of = _BESIDE[check.limit]
    if check.ratio is None:
        return f"at most {check.allowed:g} times {of}? {check.reason}"
    least, greatest = (f"{ratio or 0.0:.2f}" for ratio in (check.least, check.greatest))
    found = f"{check.ratio:.2f} times {of} ({least} to {greatest}), of at most {check.allowed:g}"
    return f"{found}; {check.reason}" if check.reason else found


def _took(run: GatedRun) -> str:
    framework = f"{run.framework} {run.version}, {run.configuration}"
    if run.us is None:
        return framework
    unit = time_unit([run.us])
    return f"{unit.format(run.us)} {unit.name} in {framework}"
