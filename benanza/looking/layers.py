"""The unique layers that are known, with their best times. Nothing is benchmarked."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from benanza.installation.configured import known_store
from benanza.looking.without_bound import ingested_ids
from benanza.results.inspect import KnownLayer, KnownLayers, LayerTime
from benanza_analyzer.measurements import MAX_REASON
from benanza_backbone.clickhouse.queries import COUNTED
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.settings import Settings
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import CacheState, StoppedBy

NETWORKS = "SELECT fingerprint FROM layers WHERE execution = 'network'"

SHARING = """
    SELECT architecture_id, count() AS models FROM model_architectures
    WHERE empty({models:Array(String)}) OR has({models:Array(String)}, model_id)
    GROUP BY architecture_id
"""

PARTS = f"""
    SELECT fingerprint, op, architecture_id, 0 AS grouped FROM architecture_layers FINAL
    WHERE kind IN ('compute', 'movement')
      AND architecture_id IN (SELECT architecture_id FROM ({SHARING}))
    UNION ALL
    SELECT fingerprint, rule AS op, architecture_id, 1 AS grouped FROM architecture_groups FINAL
    WHERE architecture_id IN (SELECT architecture_id FROM ({SHARING}))
"""

READ = "arrayFilter((dtype, fixed) -> NOT fixed, layers.input_dtypes, layers.input_constants)"
"""The types of what a layer reads that is no constant."""

OWN_TYPE = f"""
    if(
        hasAny(arrayConcat({READ}, layers.output_dtypes), ['float32', 'float16', 'bfloat16']),
        '',
        arrayElement({READ}, 1)
    )
"""
"""The type of what a layer reads if no precision changes that or a result; empty otherwise."""

LAYERS = f"""
SELECT
    used.fingerprint AS fingerprint,
    -- Until its job is made, nothing tells a group's operators but their positions.
    if(layers.title = '', used.op, layers.title) AS title,
    if(used.grouped, 'group', 'layer') AS kind,
    layers.output_shapes AS outputs,
    {OWN_TYPE} AS dtype,
    used.models AS models, used.architectures AS architectures, used.uses AS uses
FROM
(
    SELECT
        part.fingerprint AS fingerprint,
        argMin(part.op, part.grouped) AS op,
        min(part.grouped) AS grouped,
        sum(sharing.models) AS models,
        count() AS architectures,
        sum(sharing.models * part.uses) AS uses
    FROM
    (
        SELECT
            fingerprint,
            architecture_id,
            argMin(place.op, place.grouped) AS op,
            min(place.grouped) AS grouped,
            count() AS uses
        FROM ({PARTS}) AS place
        GROUP BY fingerprint, architecture_id
    ) AS part
    INNER JOIN ({SHARING}) AS sharing ON sharing.architecture_id = part.architecture_id
    GROUP BY fingerprint
) AS used
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = used.fingerprint
UNION ALL
-- Which models a network is of is not stored.
SELECT
    fingerprint, title, 'network' AS kind, layers.output_shapes AS outputs, {OWN_TYPE} AS dtype,
    0, 0, 0
FROM layers FINAL
WHERE execution = 'network' AND empty({{models:Array(String)}})
"""

TIMES = f"""
WITH
    chosen AS
    (
        SELECT fingerprint FROM ({PARTS})
        UNION ALL
        {NETWORKS} AND empty({{models:Array(String)}})
    ),
    events AS
    (
        SELECT
            fingerprint, system_id, precision, measured_at, event_id,
            -- As the analyzer takes them: without those that were pruned. Networks are timed
            -- interleaved only.
            argMinIf(
                (library, algorithm, layout, median_us, iqr_us),
                (ifNull(median_us, inf), ifNull(iqr_us, inf), variant),
                isNotNull(median_us) AND failure = '' AND stopped_by != '{StoppedBy.PRUNED}'
                AND cache = if(
                    fingerprint IN ({NETWORKS}), '{CacheState.INTERLEAVED}', '{CacheState.WARM}')
            ) AS fastest,
            arrayStringConcat(arrayDistinct(arrayMap(tried -> tried.2, arraySort(groupUniqArray((
                variant,
                if(library = '', failure,
                    concat(library, ' ', algorithm, ': ',
                        if(failure = '', 'no warm time', failure))))
            )))), '; ') AS failures
        FROM measurements
        WHERE fingerprint IN (SELECT fingerprint FROM chosen)
          AND (empty({{precisions:Array(String)}}) OR has({{precisions:Array(String)}}, precision))
          AND {COUNTED}
        GROUP BY fingerprint, system_id, precision, measured_at, event_id
    ),
    outcomes AS
    (
        SELECT
            fingerprint, system_id, precision,
            argMin(fastest, (
                isNull(fastest.4), ifNull(fastest.4, 0), ifNull(fastest.5, 0), measured_at, event_id
            )) AS best,
            argMax(failures, (measured_at, event_id)) AS newest_failures
        FROM events
        GROUP BY fingerprint, system_id, precision
    )
SELECT
    outcome.fingerprint AS fingerprint,
    if(systems.accelerator = '', systems.cpu, systems.accelerator) AS system,
    systems.runtime AS runtime,
    outcome.system_id AS system_id,
    outcome.precision AS precision,
    outcome.best.4 AS us, outcome.best.5 AS iqr_us,
    outcome.best.1 AS library, outcome.best.2 AS algorithm, outcome.best.3 AS layout,
    if(isNull(us), substringUTF8(outcome.newest_failures, 1, {MAX_REASON}), '') AS failure
FROM outcomes AS outcome
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = outcome.system_id
WHERE startsWith(outcome.system_id, {{system:String}})
ORDER BY system, runtime, system_id, precision
"""


def known_layers(
    settings: Settings, models: Sequence[str], precisions: Sequence[Precision], system: str = ""
) -> KnownLayers:
    """The unique layers and groups of these models, or of all where none is named; those that cost
    the most first.

    The times are those at `precisions`, or at all that were measured, on systems whose id begins
    with `system`. Raises `BenanzaError` for a
    model that is not ingested.
    """
    with known_store(settings) as store:
        asked = {
            "models": ingested_ids(store, models, settings),
            "precisions": list(precisions),
            "system": system,
        }
        return KnownLayers(layers=tuple(sorted(_layers(store, asked), key=_most_first)))


def first(known: KnownLayers, limit: int) -> KnownLayers:
    """The first so many layers."""
    return KnownLayers(layers=known.layers[:limit])


def _layers(store: Store, asked: dict[str, Any]) -> Iterator[KnownLayer]:
    rows = store.query(LAYERS, asked)
    networks = {row["fingerprint"] for row in rows if row["kind"] == "network"}
    timed: dict[str, dict[Place, LayerTime]] = defaultdict(dict)
    # A layer waits where others like it were tried: networks are timed elsewhere than calls.
    calls_at: dict[Place, LayerTime] = {}
    networks_at: dict[Place, LayerTime] = {}
    for row in store.query(TIMES, asked):
        fingerprint = row.pop("fingerprint")
        time = LayerTime(**row)
        place = time.system_id, time.precision
        timed[fingerprint][place] = time
        places = networks_at if fingerprint in networks else calls_at
        places.setdefault(place, _waiting(time))
    for row in rows:
        fingerprint = row["fingerprint"]
        places = networks_at if fingerprint in networks else calls_at
        times = tuple((places | timed[fingerprint]).values())
        outputs = tuple(map(tuple, row.pop("outputs")))
        yield KnownLayer(outputs=outputs, times=times, **row)


Place = tuple[str, str]
"""A system's id, and a precision."""


def _waiting(time: LayerTime) -> LayerTime:
    """What is said at the same place of a layer that nobody has tried there."""
    return msgspec.structs.replace(
        time, us=None, iqr_us=None, library="", algorithm="", layout="", failure=""
    )


def _most_first(layer: KnownLayer) -> tuple[float, float, str, str]:
    """By what its uses cost together where they cost the most; without a time, last."""
    times = [time.us for time in layer.times if time.us is not None]
    longest = max(times, default=-math.inf)
    return -longest * layer.uses if times else math.inf, -longest, layer.title, layer.fingerprint
