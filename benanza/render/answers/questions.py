"""The six questions of the paper, for people."""

from collections.abc import Callable

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benanza.render.answers.explain import NONE_SUCH
from benanza.render.bounds import model_at
from benanza.render.systems import SystemNames
from benanza.render.table import Column, html, names, printable, table
from benanza.render.units import TimeUnit, time_unit
from benanza.results.questions import Answers, ModelAnswers

EXPLAINED = (
    "Q1: how much faster the bound is than the fastest known run by a framework; the parallel one. "
    "Q2: what independent layers at the same time save at most. "
    "Q3: what the best algorithms save against heuristics' choices, in so many layers. "
    "Q4: between calls, and in calls that the bound does without. "
    "Q5: what fusion saves. Q6: what TF32 and fp16 save."
)


def print_answers(console: Console, answers: Answers) -> None:
    """Prints a table for each system and precision, with a row for each model."""
    for part in _parts(answers, plain=not console.is_terminal):
        console.print(part)


def answers_html(answers: Answers) -> str:
    """The answers for a notebook."""
    return html(_parts(answers, plain=False))


def _parts(answers: Answers, *, plain: bool) -> list[RenderableType]:
    if not answers.models:
        return [Text(NONE_SUCH)]
    tables: dict[tuple[str, str], list[ModelAnswers]] = {}
    for answer in answers.models:
        tables.setdefault((answer.bound.system_id, answer.bound.precision), []).append(answer)
    systems = SystemNames(answer.bound for answer in answers.models)
    parts: list[RenderableType] = []
    for rows in tables.values():
        parts.append(_table(rows, plain=plain))
        parts.append(Text(printable(systems.measured_on(rows[0].bound))))
        parts += [
            Text(printable(_contradiction(answer))) for answer in rows if answer.contradiction
        ]
    return [*parts, Text(EXPLAINED)]


def _table(rows: list[ModelAnswers], *, plain: bool) -> Table:
    unit = time_unit(answer.bound.sequential_us for answer in rows)
    columns = (
        names("model"),
        Column("batch"),
        Column(f"bound {unit.name}"),
        Column("Q1"),
        Column("Q1 parallel", spare=2),
        Column(f"Q2 {unit.name}"),
        Column(f"Q3 {unit.name}"),
        Column("Q3 layers", spare=3),
        Column(f"Q4 {unit.name}"),
        Column(f"Q5 {unit.name}", spare=1),
        Column(f"Q6 TF32 {unit.name}", spare=4),
        Column(f"Q6 fp16 {unit.name}", spare=5),
    )
    return table(columns, [_row(answer, unit) for answer in rows], plain=plain)


def _row(answer: ModelAnswers, unit: TimeUnit) -> tuple[str, ...]:
    time: Callable[[float | None], str] = unit.format
    return (
        f"{answer.bound.model}{' (partial)' if answer.bound.partial else ''}",
        str(answer.bound.batch),
        time(answer.bound.sequential_us),
        _times(answer.speed_up),
        _times(answer.parallel_speed_up),
        time(answer.parallel_us),
        time(answer.algorithms_us),
        "-" if answer.algorithms_us is None else f"{answer.algorithm_layers:,}",
        time(answer.inefficiency_us),
        time(answer.fusion_us),
        time(answer.tf32_us),
        time(answer.fp16_us),
    )


def _contradiction(answer: ModelAnswers) -> str:
    return f"{model_at(answer.bound)}, in {answer.framework}: {answer.contradiction}"


def _times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"
