"""Models that PyTorch was run with, and gave no right result for."""

from typing import Any

from benanza_backbone.clickhouse.store import Store

_FAILED = """
SELECT
    model.name AS name,
    profile.precision AS precision,
    profile.batch AS batch,
    argMin(profile.failure, profile.configuration) AS failure
FROM (SELECT * FROM profiles FINAL) AS profile
INNER JOIN (SELECT * FROM models FINAL) AS model ON model.model_id = profile.model_id
WHERE profile.framework = 'pytorch'
GROUP BY name, precision, batch
HAVING countIf(profile.median_us IS NOT NULL) = 0
ORDER BY precision, batch, name
"""


def without_time(store: Store) -> dict[str, str]:
    """Why a model that was run has no time, by its name in the zoo, precision and batch size: the
    reason of its first configuration.
    """
    return {_title(row): row["failure"] for row in store.query(_FAILED)}


def _title(row: dict[str, Any]) -> str:
    return f"{row['name']}, {row['precision']}, batch {row['batch']}"
