"""`suite latency`: models' latencies from the networks that were timed."""

from collections.abc import Mapping, Sequence
from typing import Any

from benanza.errors import about
from benanza.installation.configured import known_store
from benanza.suites.construct import Times, construct
from benanza.suites.results import ConstructedLatencies, ConstructedLatency, LackingLayers
from benanza_backbone.clickhouse.queries import COUNTED
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.core import model_id
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.limits import limits_of
from benanza_ingest.reading.source import FetchedModel, fetch
from benanza_schemas.vocabulary import CacheState

TIMES = f"""
SELECT
    system_id,
    any(systems.cpu) AS cpu,
    any(systems.threads) AS threads,
    fingerprint,
    -- The least median of several measurements; null where all failed.
    min(median_us) AS us,
    max(failure) AS reason
FROM measurements
LEFT JOIN (SELECT * FROM systems FINAL) AS systems USING (system_id)
WHERE fingerprint IN {{fingerprints:Array(String)}} AND precision = 'fp32'
    AND (cache = '{CacheState.INTERLEAVED}' OR failure != '')
    AND {COUNTED}
GROUP BY system_id, fingerprint
ORDER BY system_id
"""


def constructed_latencies(
    models: Sequence[str],
    granularity: int,
    batch: int | None,
    dims: Mapping[str, int],
    settings: Settings,
) -> ConstructedLatencies:
    """The latency of each model on each system that timed a network of its.

    Raises `BenanzaError` if a model can't be had, or has no network that was timed.
    """
    limits = limits_of(settings)
    latencies: list[ConstructedLatency] = []
    with known_store(settings) as store:
        for model in models:
            with about(model):
                fetched = fetch(model, limits)
                extracted = extract(
                    fetched.content, batch=batch, dims=dims, limits=limits, granularity=granularity
                )
                latencies += _latencies(fetched, extracted, granularity, store)
    return ConstructedLatencies(latencies=tuple(latencies))


def _latencies(
    fetched: FetchedModel, model: ExtractedModel, granularity: int, store: Store
) -> list[ConstructedLatency]:
    unique = sorted({sequence.fingerprint for sequence in model.sequences})
    systems: dict[str, list[dict[str, Any]]] = {}
    for row in store.query(TIMES, {"fingerprints": unique}):
        systems.setdefault(row["system_id"], []).append(row)
    if not systems:
        raise BenanzaError(
            f"none of its networks of at most {granularity} layers was timed; "
            "say: benanza suite export, run and import"
        )
    latencies = []
    for system_id, rows in systems.items():
        times: Times = {
            row["fingerprint"]: row["reason"] if row["us"] is None else row["us"] for row in rows
        }
        made = construct(model.sequences, model.edges, times)
        latencies.append(
            ConstructedLatency(
                name=fetched.name,
                model_id=model_id(fetched.sha256, model.batch, model.dims),
                batch=model.batch,
                granularity=granularity,
                system_id=system_id,
                cpu=rows[0]["cpu"],
                threads=rows[0]["threads"],
                precision="fp32",
                sequences=len(model.sequences),
                unique=len(unique),
                sequential_us=made.sequential_us,
                critical_path_us=made.critical_path_us,
                lacking=tuple(
                    LackingLayers(reason=reason, layers=layers)
                    for reason, layers in made.lacking.items()
                ),
            )
        )
    return latencies
