"""What a trace is set beside: the best times of its layers, and the systems that have them."""

from benanza_backbone.clickhouse.queries import COUNTED
from benanza_schemas.vocabulary import CacheState, StoppedBy

BEST_TIMES = f"""
SELECT
    system_id, fingerprint, precision,
    minIf(
        median_us,
        isNotNull(median_us) AND failure = '' AND cache = '{CacheState.WARM}'
        AND stopped_by != '{StoppedBy.PRUNED}') AS us
FROM measurements
WHERE fingerprint IN {{fingerprints:Array(String)}} AND {COUNTED}
GROUP BY system_id, fingerprint, precision
"""
"""The least time of each of these layers in microseconds on each system at each precision; none
where it was tried and has none.
"""

SYSTEMS_BY_AGE = """
SELECT system_id, accelerator, if(accelerator = '', cpu, accelerator) AS name
FROM systems FINAL
ORDER BY measured_at DESC, system_id
"""
"""All systems, the newest first."""
