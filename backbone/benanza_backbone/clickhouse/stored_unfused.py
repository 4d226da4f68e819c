"""What bounds without fusion are computed from, of many models at once."""

from collections import defaultdict
from collections.abc import Sequence

from benanza_backbone.clickhouse.queries import COUNTED
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import MEASURED, measured_events
from benanza_schemas.events import (
    LayerMeasured,
    LayerSummary,
    LayerUse,
    ModelIngested,
    System,
)
from benanza_schemas.layer import Precision
from benanza_schemas.vocabulary import OF_NO_LIBRARY, CacheState, StoppedBy

_MODELS = """
SELECT
    known.model_id AS model_id, known.architecture_id AS shared, known.name AS name,
    known.zoo AS zoo, known.sha256 AS sha256, known.opset AS opset, known.batch AS batch,
    known.dims AS dims, known.quantised AS quantised, known.tensor_parallel AS tensor_parallel,
    graph.event_id AS event_id
FROM known_models AS known
INNER JOIN
(
    SELECT architecture_id, argMax(event_id, (stored_at, event_id)) AS event_id
    FROM architectures
    GROUP BY architecture_id
) AS graph ON graph.architecture_id = known.architecture_id
WHERE known.model_id IN {models:Array(String)}
ORDER BY name
LIMIT 1 BY model_id
"""

_SUMMARIES = """
SELECT
    architecture_id, op, domain, kind, fingerprint, flops, bytes, parameters, reason, least_flops,
    least_weights, least_fixed,
    groupArray(position) AS positions
FROM (SELECT * FROM architecture_layers FINAL)
WHERE architecture_id IN
    (SELECT architecture_id FROM models WHERE model_id IN {models:Array(String)})
GROUP BY
    architecture_id, op, domain, kind, fingerprint, flops, bytes, parameters, reason, least_flops,
    least_weights, least_fixed
"""

_EDGES = """
SELECT architecture_id, groupArray((source, target)) AS edges
FROM (SELECT * FROM architecture_edges FINAL)
WHERE architecture_id IN
    (SELECT architecture_id FROM models WHERE model_id IN {models:Array(String)})
GROUP BY architecture_id
"""

_OWN = tuple(sorted(OF_NO_LIBRARY))

_FASTEST = f"""
SELECT {MEASURED} FROM measurements
WHERE system_id = {{system:String}}
  AND precision = {{precision:String}}
  AND fingerprint IN
  (
      SELECT fingerprint FROM architecture_layers WHERE architecture_id IN
          (SELECT architecture_id FROM models WHERE model_id IN {{models:Array(String)}})
  )
  AND cache = '{CacheState.WARM.value}'
  AND stopped_by != '{StoppedBy.PRUNED.value}'
  AND isNotNull(median_us)
  AND {COUNTED}
ORDER BY fingerprint, measured_at, event_id, median_us, iqr_us, variant
LIMIT 1 BY
    fingerprint, measured_at, event_id, layout, layout_change_us, library IN {_OWN},
    chosen_by_heuristic
"""


def stored_without_groups(store: Store, models: Sequence[str]) -> list[ModelIngested]:
    """Those of these models that the store has, each as if its architecture, which lacks groups and
    names of layers here, were its own. Three queries read all of them.
    """
    asked = {"models": list(models)}
    summaries: dict[str, list[LayerSummary]] = defaultdict(list)
    summary_at: dict[str, dict[int, int]] = defaultdict(dict)
    for row in store.query(_SUMMARIES, asked):
        of, positions = row.pop("architecture_id"), row.pop("positions")
        summary_at[of] |= dict.fromkeys(positions, len(summaries[of]))
        summaries[of].append(LayerSummary(**row))
    edges = {row["architecture_id"]: row["edges"] for row in store.query(_EDGES, asked)}
    events = []
    for row in store.query(_MODELS, asked):
        of = row.pop("shared")
        uses = tuple(LayerUse(summary, "") for _, summary in sorted(summary_at[of].items()))
        events.append(
            ModelIngested(
                **row,
                architecture_id=row["model_id"],
                summaries=tuple(summaries[of]),
                layers=uses,
                edges=tuple(sorted(edges.get(of, ()))),
                groups=(),
            )
        )
    return events


def fastest_variants(
    store: Store, models: Sequence[str], system: System, precision: Precision
) -> list[LayerMeasured]:
    """All measurements of these models' layers on a system at a precision, those of a layer from
    the oldest on. Of their variants there are only the fastest with warm caches: one for each
    layout and time of its conversions, of libraries and of generated kernels, as heuristics choose
    and not.
    """
    rows = store.query(
        _FASTEST, {"models": list(models), "system": system.system_id, "precision": precision}
    )
    return measured_events(rows, system)
