"""What changed in evaluations since the system before: another version, driver or library."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from math import comb
from statistics import median
from typing import Any, ClassVar, Literal

import msgspec

from benanza.installation.configured import known_store
from benanza.results.result import Result
from benanza_backbone.document import Document
from benanza_backbone.errors import BenanzaError
from benanza_backbone.pasteable import pasteable
from benanza_backbone.settings import Settings
from benanza_ingest.reading.zoo import PREFIX

Figure = Literal["p50_us", "p99_us", "per_s"]
FIGURES: tuple[Figure, ...] = ("p50_us", "p99_us", "per_s")

OF_A_KIND = ("model_id", "device", "framework", "precision", "scenario")

MOST_ONCE_IN = 20
"""Where nothing changed, a figure is taken for changed at most once in so many times."""

_RUNS = """
SELECT model, model_id, device, framework, precision, scenario, options, system_id,
       any(version) AS version, any(driver) AS driver, any(libraries) AS libraries,
       max(evaluated_at) AS last_at,
       groupArray(mapFilter((name, _) -> name IN {names:Array(String)}, figures)) AS runs
FROM evaluations FINAL
WHERE failure = '' AND ({model:String} = '' OR model = {model:String}
      OR startsWith(model_id, {model:String}))
GROUP BY model, model_id, device, framework, precision, scenario, options, system_id
ORDER BY min(evaluated_at), system_id
"""


class ChangedFigure(Document, frozen=True, kw_only=True):
    """The medians of a figure before and now, and how far the runs of either are apart: the
    greatest by the least, less one. It changed for `sure` where all runs of one side are above all
    of the other, and there are `enough`.
    """

    figure: Figure
    before: float
    now: float
    spread_before: float
    spread: float
    sure: bool

    @property
    def ratio(self) -> float:
        """Now by before."""
        return self.now / self.before


class EvaluationChange(Document, frozen=True, kw_only=True):
    """A model under a scenario, with the same options, on the same device, by two systems: `what`
    has the versions that differ, before and now.
    """

    model: str
    model_id: str
    device: str
    framework: str
    precision: str
    scenario: str
    what: dict[str, tuple[str, str]]
    runs_before: int
    runs: int
    last_at: datetime
    figures: tuple[ChangedFigure, ...]


class EvaluationChanges(Result, frozen=True, kw_only=True):
    """Each system's runs beside those of the system before it, the newest first."""

    _rows: ClassVar[str] = "changes"

    changes: tuple[EvaluationChange, ...]
    others: int
    """So many models under a scenario were evaluated by one system alone."""


def evaluation_changes(settings: Settings, model: str) -> EvaluationChanges:
    """What is stored of a model, by its name or the begin of its id, or of all if it is empty.
    Raises `BenanzaError` if it was never evaluated.
    """
    name = model.removeprefix(PREFIX)
    with known_store(settings) as store:
        rows = list(store.query(_RUNS, {"model": name, "names": list(FIGURES)}))
    if model and not rows:
        raise BenanzaError(
            f"no evaluation of {model} is known; say: {pasteable('benanza', 'evaluate', model)}"
        )
    return changes(rows)


def enough(before: int, now: int) -> bool:
    """Whether so many runs can say that something changed. Where nothing did, all orders of them
    are equally likely, and in two of these one side is above the other: an exact test of ranks, as
    Mann and Whitney have it. Four runs of each are enough, and two beside eight.
    """
    return comb(before + now, now) >= 2 * MOST_ONCE_IN


def changes(rows: Sequence[Mapping[str, Any]]) -> EvaluationChanges:
    """What rows of systems, each with its runs, say, in the order of their first runs."""
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        options = msgspec.json.encode(row["options"], order="sorted")
        alike[(*(row[name] for name in OF_A_KIND), options)].append(row)
    found = [
        _change(before, now) for systems in alike.values() for before, now in pairwise(systems)
    ]
    found.sort(key=lambda change: change.last_at, reverse=True)
    single = sum(len(systems) == 1 for systems in alike.values())
    return EvaluationChanges(changes=tuple(found), others=single)


def _change(before: Mapping[str, Any], now: Mapping[str, Any]) -> EvaluationChange:
    versions = [
        {row["framework"]: row["version"], "driver": row["driver"], **row["libraries"]}
        for row in (before, now)
    ]
    names = sorted({*versions[0], *versions[1]})
    pairs = {name: (versions[0].get(name, ""), versions[1].get(name, "")) for name in names}
    return EvaluationChange(
        model=now["model"],
        **{name: now[name] for name in OF_A_KIND},
        what={name: pair for name, pair in pairs.items() if pair[0] != pair[1]},
        runs_before=len(before["runs"]),
        runs=len(now["runs"]),
        last_at=now["last_at"],
        figures=tuple(_figures(before["runs"], now["runs"])),
    )


def _figures(
    before: Sequence[Mapping[str, float]], now: Sequence[Mapping[str, float]]
) -> Iterator[ChangedFigure]:
    for name in FIGURES:
        old, new = (sorted(run[name] for run in runs if run.get(name)) for runs in (before, now))
        if old and new:
            apart = old[-1] < new[0] or new[-1] < old[0]
            yield ChangedFigure(
                figure=name,
                before=median(old),
                now=median(new),
                spread_before=old[-1] / old[0] - 1,
                spread=new[-1] / new[0] - 1,
                sure=apart and enough(len(old), len(new)),
            )
