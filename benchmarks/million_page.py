"""The page of `benchmarks.million`: what was measured, multiplied."""

from collections.abc import Sequence
from typing import NamedTuple

from benanza_analyzer.service import LONGEST_REBUILD_S
from benanza_schemas.codec import encode
from benanza_schemas.events import AnyEvent

MODELS, ARCHITECTURES, LAYERS = 1_000_000, 20_000, 2_000_000
COPIES_OF_ANALYZER = 1, 2, 4, 8

GB = 1e9
DAYS = 365
MEMORY_GB = 24
READ_BYTES_PER_S = 100e6
"""What a copy has, and how fast it reads the log: assumed."""


class Costs(NamedTuple):
    """What the analyzer needs for so many graphs and results: bytes and seconds."""

    graphs: int
    results: int
    graph_bytes: int
    result_bytes: int
    graph_s: float
    result_s: float


def _mean_bytes(events: Sequence[AnyEvent]) -> float:
    return sum(len(encode(event)) for event in events) / max(1, len(events))


def page(
    costs: Sequence[Costs],
    events: Sequence[Sequence[AnyEvent]],
    move_s: float,
    moved: float,
    rows: dict[str, tuple[int, float]],
) -> str:
    """The page, by what the zoo and copies of it took, once and twice.

    `events` are the zoo's graphs, checkpoints, results and bounds. A result moved so many bounds in
    the mean, each in `move_s` seconds. `rows` has for each table its rows, and the bytes of one.
    """
    once, twice = costs
    graphs, checkpoints, results, bounds = events
    more_graphs, more_results = twice.graphs - once.graphs, twice.results - once.results
    graph_b = (twice.graph_bytes - once.graph_bytes) / more_graphs
    result_b = (twice.result_bytes - once.result_bytes) / more_results
    graph_s, result_s = twice.graph_s / twice.graphs, twice.result_s / twice.results
    records = (
        ("`graphs`", graphs, ARCHITECTURES),
        ("`checkpoints`", checkpoints, MODELS),
        ("`results`, of a system and precision", results, LAYERS),
        ("`bounds`, the same", bounds, 4 * ARCHITECTURES),
    )
    log_b = sum(number * _mean_bytes(of) for _, of, number in records)
    tables = _tables(rows, len(graphs), len(results))
    table_b = sum(kept * size for _, kept, size in tables)
    held_gb = {copy: _held_gb(copy, graph_b, result_b) for copy in COPIES_OF_ANALYZER}
    start_min = {copy: _start_min(copy, graph_s, result_s) for copy in COPIES_OF_ANALYZER}
    lines = [TITLE, ""]
    for copy in (COPIES_OF_ANALYZER[0], COPIES_OF_ANALYZER[-1]):
        whose = "One analyzer" if copy == 1 else f"Each of {copy} analyzers"
        lines.append(
            f"- {whose} takes {held_gb[copy]:,.1f} GB, and {start_min[copy]:,.0f} minutes to "
            "start, for one system at one precision."
        )
    lines += [
        f"- Results break first: {_limits(result_b, result_s, _mean_bytes(results))}.",
        f"- The event log has {log_b / GB:,.1f} GB before compression, ClickHouse "
        f"{table_b / GB:,.1f} GB on the disk.",
        "",
        *INTRODUCTION.splitlines(),
        *HEAD,
    ]
    for name, n, each_b, each_s, total in (
        ("graphs", once.graphs, once.graph_bytes / once.graphs, once.graph_s / once.graphs, 0),
        ("twice as many", twice.graphs, graph_b, graph_s, ARCHITECTURES),
        (
            "results",
            once.results,
            once.result_bytes / once.results,
            once.result_s / once.results,
            0,
        ),
        ("twice as many", twice.results, result_b, result_s, LAYERS),
    ):
        all_b = f"{total * each_b / GB:,.1f} GB" if total else ""
        all_s = f"{total * each_s / 60:,.0f} min" if total else ""
        lines.append(
            f"| {name} | {n:,} | {each_b:,.0f} | {1e6 * each_s:,.0f} | {all_b} | {all_s} |"
        )
    lines += ["", "So a copy of the analyzer takes, for one system at one precision:", ""]
    lines += ["| copies | memory of each | start of each |", "|---|---|---|"]
    for copy in COPIES_OF_ANALYZER:
        lines.append(f"| {copy} | {held_gb[copy]:,.1f} GB | {start_min[copy]:,.0f} min |")
    hours = LAYERS * moved * move_s / 3600
    lines += [
        "",
        f"A result moves {moved:.1f} bounds of the zoo in the mean, each in {1e3 * move_s:.1f} ms: "
        f"{hours:,.1f} hours for all results of a system at a precision, which the copies share.",
        "",
        *_first_to_break(result_b, result_s, _mean_bytes(results)),
        *RECORDS,
    ]
    for name, of, number in records:
        size, a_day = _mean_bytes(of), number / DAYS
        lines.append(
            f"| {name} | {number:,} | {size:,.0f} | {number * size / GB:,.1f} GB | {a_day:,.0f} |"
        )
    lines += ROWS
    for table, kept, size in tables:
        lines.append(
            f"| `{table}` | {kept:,.0f} | {size:,.0f} | {kept * size / GB:,.2f} GB "
            f"| {kept / DAYS:,.0f} |"
        )
    return "\n".join(lines)


def _held_gb(copies: int, graph_b: float, result_b: float) -> float:
    """What each of so many analyzers holds: its share of the graphs, and all results."""
    return (ARCHITECTURES / copies * graph_b + LAYERS * result_b) / GB


def _start_min(copies: int, graph_s: float, result_s: float) -> float:
    """The minutes in which each of them takes these in."""
    return (ARCHITECTURES / copies * graph_s + LAYERS * result_s) / 60


def _tables(
    rows: dict[str, tuple[int, float]], graphs: int, results: int
) -> list[tuple[str, float, float]]:
    """For each table its name, how many rows it would have, and the bytes of a row."""
    tables = []
    for table, number in (
        ("models", MODELS),
        *((f"architecture_{part}", ARCHITECTURES) for part in ("layers", "edges", "groups")),
        ("measurements", LAYERS),
        ("architecture_bounds", 4 * ARCHITECTURES),
    ):
        n, size = rows[table]
        row_counts = {"models": 1.0, "measurements": n / results, "architecture_bounds": 1.0}
        tables.append((table, number * row_counts.get(table, n / graphs), size))
    return tables


def _restart_s(result_s: float, event_b: float) -> float:
    """Seconds to read and take in all results of a system at a precision."""
    return LAYERS * (result_s + event_b / READ_BYTES_PER_S)


def _limits(result_b: float, result_s: float, event_b: float) -> str:
    """How many systems and precisions are too many for a copy, which has all their results."""
    slow = LONGEST_REBUILD_S / _restart_s(result_s, event_b)
    full = MEMORY_GB * GB / (LAYERS * result_b)
    return (
        f"with those of {slow:,.1f} systems and precisions a start takes longer than the "
        f"{LONGEST_REBUILD_S / 60:,.0f} minutes after which it counts as hung, and with "
        f"{full:,.0f} they fill {MEMORY_GB} GB of memory"
    )


def _first_to_break(result_b: float, result_s: float, event_b: float) -> list[str]:
    """What a copy can't do any more, by the number of systems and precisions with all results."""
    return [
        "### What breaks first",
        "",
        "Results. A copy reads and keeps all of them, however many copies there are. For each "
        f"system and precision it reads {LAYERS * event_b / GB:,.1f} GB at its start, which takes "
        f"{_restart_s(result_s, event_b) / 60:,.0f} minutes at {READ_BYTES_PER_S / 1e6:,.0f} MB/s, "
        f"and keeps {LAYERS * result_b / GB:,.1f} GB. So {_limits(result_b, result_s, event_b)}. "
        "It also reads when each bound was computed, a tenth of these bytes, and keeps nothing of "
        "it.",
        "",
        "The remedies, in this order: keep the best of each layer's results in a compacted topic, "
        "instead of reading all again; keep only what the copy's own architectures contain, and "
        "ask the store for the layers of a new one. Neither is built.",
    ]


TITLE = "# A million models"

INTRODUCTION = f"""`python -m benchmarks.million > docs/results/million.md` writes this page. It
says what {MODELS:,} models of {ARCHITECTURES:,} architectures with {LAYERS:,} layers and groups
would take, by what the zoo's models take: their graphs, the results of their recording on an H200
in fp16, and copies of both with other layers. That memory and time grow in proportion is seen up to
twice the zoo; beyond, it is assumed.

## The analyzer

"""

HEAD = (
    "| | number | bytes of each | µs of each | bytes of all | time of all |",
    "|---|---|---|---|---|---|",
)

RECORDS = (
    "",
    "## The event log",
    "",
    "Before compression and copies:",
    "",
    "| topic | events | bytes of each | in all | a day, if they come within a year |",
    "|---|---|---|---|---|",
)

ROWS = (
    "",
    "## ClickHouse",
    "",
    "On the disk, compressed, one version of each bound:",
    "",
    "| table | rows | bytes of a row | in all | a day |",
    "|---|---|---|---|---|",
)
