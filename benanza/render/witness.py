"""Models that were run as their bounds say, or would say under other policies, for people."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benanza.render.systems import SystemNames
from benanza.render.table import Column, names, printable, table
from benanza.render.units import time_unit
from benanza.results.witness import ModelWitness, Witnesses


def print_witnesses(console: Console, witnesses: Witnesses) -> None:
    """Prints a table for each system and precision, one of the runs under other policies, and why
    models could not be run.
    """
    tables: dict[tuple[str, str], list[ModelWitness]] = {}
    for witness in witnesses.witnesses:
        tables.setdefault((witness.system_id, witness.precision), []).append(witness)
    systems = SystemNames(witnesses.witnesses)
    for rows in tables.values():
        as_bound = [row for row in rows if not row.policy]
        what_ifs = [row for row in rows if row.policy]
        console.print(_table(as_bound, plain=not console.is_terminal))
        if what_ifs:
            console.print(_what_ifs(what_ifs, as_bound, plain=not console.is_terminal))
        console.print(Text(printable(systems.measured_on(rows[0]))))
    for witness in witnesses.witnesses:
        if reason := witness.failure or _doubt(witness):
            policy = f", {witness.policy}" if witness.policy else ""
            about = f"{witness.model}, batch {witness.batch}, {witness.precision}{policy}"
            console.print(Text(printable(f"{about}: {reason}")))


def _doubt(witness: ModelWitness) -> str:
    """Why the run may be wrong, empty if it is right."""
    if witness.error is None or witness.allowed_error is None:
        return f"its results were not compared: {witness.unchecked}"
    if witness.error <= witness.allowed_error:
        return ""
    return (
        f"wrong results: they are off by {witness.error:.2g} of their norm; "
        f"{witness.allowed_error:.2g} is allowed. Each call alone was right: please report it"
    )


def _table(witnesses: Sequence[ModelWitness], *, plain: bool) -> Table:
    unit = time_unit(witness.sequential_bound_us for witness in witnesses)
    columns = (
        names("model"),
        Column("batch"),
        Column(f"bound {unit.name}"),
        Column(f"attainable {unit.name}", spare=2),
        Column(f"run {unit.name}"),
        Column("run / bound"),
        Column("attainable / run", spare=3),
        Column(f"weights read ahead {unit.name}", spare=4),
        Column("read ahead / bound", spare=5),
        Column(f"parallel bound {unit.name}", spare=6),
        Column(f"run on streams {unit.name}", spare=7),
        Column("calls", spare=9),
        Column("layout changes", spare=8),
        Column("error", spare=1),
    )
    rows = [
        (
            witness.model,
            str(witness.batch),
            unit.format(witness.sequential_bound_us),
            unit.format(witness.attainable_us),
            unit.format(witness.sequential_us),
            _ratio(witness.sequential_us, witness.sequential_bound_us),
            _ratio(witness.attainable_us, witness.sequential_us),
            unit.format(witness.read_ahead_us),
            _ratio(witness.read_ahead_us, witness.sequential_bound_us),
            unit.format(witness.parallel_bound_us),
            unit.format(witness.parallel_us),
            f"{witness.calls:,}",
            f"{witness.layout_changes:,}",
            "-" if witness.error is None else f"{witness.error:.1g}",
        )
        for witness in witnesses
    ]
    return table(columns, rows, plain=plain)


def _what_ifs(
    witnesses: Sequence[ModelWitness], as_bound: Sequence[ModelWitness], *, plain: bool
) -> Table:
    """What was predicted, as bounds and as differences of bounds, beside runs and differences of
    runs.
    """
    base = {(witness.model_id, witness.batch): witness for witness in as_bound}
    unit = time_unit(witness.predicted_us for witness in witnesses)
    columns = (
        names("model"),
        Column("batch"),
        Column("what if", "left"),
        Column(f"predicted {unit.name}"),
        Column(f"run {unit.name}"),
        Column("run / predicted"),
        Column(f"predicted more {unit.name}", spare=10),
        Column(f"seen more {unit.name}", spare=11),
        Column("calls", spare=9),
    )
    rows = []
    for witness in witnesses:
        of = base[witness.model_id, witness.batch]
        rows.append(
            (
                witness.model,
                str(witness.batch),
                witness.policy,
                unit.format(witness.predicted_us),
                unit.format(witness.sequential_us),
                _ratio(witness.sequential_us, witness.predicted_us),
                unit.format(_more(witness.predicted_us, of.sequential_bound_us)),
                unit.format(_more(witness.sequential_us, of.sequential_us)),
                f"{witness.calls:,}",
            )
        )
    return table(columns, rows, plain=plain)


def _more(time_us: float | None, than_us: float | None) -> float | None:
    return None if time_us is None or than_us is None else time_us - than_us


def _ratio(time_us: float | None, of_us: float | None) -> str:
    return f"{time_us / of_us:.2f}" if time_us and of_us else "-"
