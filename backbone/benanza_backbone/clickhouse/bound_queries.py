"""The SQL of bounds.

ClickHouse takes a quarter of a second to analyse all of it as one statement, and less than a tenth
for the bounds alone. So it is three, of which two are asked only if they can find anything.
"""

from benanza_backbone.clickhouse.queries import COUNTED
from benanza_schemas.vocabulary import COPIED_STATE, STATE_AS_WRITTEN

_CHOSEN = """
    chosen AS
    (
        SELECT DISTINCT model_id FROM models
        WHERE empty({models:Array(String)})
           OR has({models:Array(String)}, name)
           OR has({models:Array(String)}, model_id)
    ),
"""

BOUNDS = (
    """
WITH
"""
    + _CHOSEN
    + """    layers_of AS
    (
        SELECT
            named.model_id AS model_id,
            arraySort(groupArray((
                node.position,
                if(empty(named.layer_names), node.name, named.layer_names[node.position + 1]),
                node.op))) AS nodes,
            length(nodes) AS layers,
            any(states.count) AS in_place,
            countIf(startsWith(node.reason, '"""
    + COPIED_STATE
    + """')) AS copied_states,
            arraySort(groupUniqArrayIf(
                substring(node.reason, """
    + str(len(COPIED_STATE) + 1)
    + """), startsWith(node.reason, '"""
    + COPIED_STATE
    + """'))) AS why_copied,
            uniqExactIf(node.fingerprint, node.fingerprint != '') AS unique_layers
        FROM
        (
            SELECT * FROM model_architectures WHERE model_id IN chosen
        ) AS named
        INNER JOIN
        (
            SELECT * FROM architecture_layers FINAL
            WHERE architecture_id IN (SELECT architecture_id FROM models WHERE model_id IN chosen)
        ) AS node ON node.architecture_id = named.architecture_id
        LEFT JOIN
        (
            SELECT architecture_id, count() AS count FROM architecture_groups FINAL
            WHERE rule = '"""
    + STATE_AS_WRITTEN
    + """'
              AND architecture_id IN (SELECT architecture_id FROM models WHERE model_id IN chosen)
            GROUP BY architecture_id
        ) AS states ON states.architecture_id = named.architecture_id
        GROUP BY model_id
    )
SELECT
    bound.* EXCEPT (measured, free, not_counted, missing, cover) REPLACE
    (
        arrayMap(at -> nodes[at + 1].2, critical_path) AS critical_path,
        -- Without a ceiling it is zero, or the sum of rooflines of a row from before these.
        if(bound.limited_by = '', NULL, bound.roofline_us) AS roofline_us
    ),
    layers_of.layers AS layers,
    layers_of.unique_layers AS unique_layers,
    -- In the order of the model's layers.
    arraySort(arrayFlatten(arrayMap(
        why -> arrayMap(at -> (at, nodes[at + 1].2, nodes[at + 1].3, why.reason), why.layers),
        bound.missing))) AS lacking,
    CAST(
        (
            length(bound.measured), length(bound.free), length(bound.not_counted),
            arrayMap(layer -> (layer.2, layer.3, layer.4), lacking)
        ),
        'Tuple(
            measured UInt64, free UInt64, not_counted UInt64,
            missing Array(Tuple(name String, op String, reason String)))') AS coverage,
    CAST(
        (layers_of.in_place, layers_of.copied_states, layers_of.why_copied),
        'Tuple(in_place UInt64, copied UInt64, why_copied Array(String))') AS states
FROM bounds_at(at = {at:DateTime64(6, 'UTC')}) AS bound
LEFT JOIN layers_of ON layers_of.model_id = bound.model_id
WHERE (
        empty({models:Array(String)})
        OR (
            bound.model_id IN chosen
            AND (has({models:Array(String)}, model) OR has({models:Array(String)}, bound.model_id))
        )
    )
    AND {accounting:String} IN ('', accounting)
ORDER BY
    model, batch, mapKeys(bound.dims), mapValues(bound.dims), bound.model_id,
    system, runtime, precision, accounting, fusion, system_id
"""
)
"""Rows of `ModelBound` without `slowed` and `beaten_by`: the bounds at the time `at`, of `models`
by name or id, or of all, under `accounting` or under each.
"""

SLOWED_CALLS = (
    """
WITH
"""
    + _CHOSEN
    + """    slowed_layers AS
    (
        SELECT
            fingerprint,
            system_id,
            precision,
            argMin(slowed_by, (median_us, ifNull(iqr_us, inf), measured_at, event_id, variant))
                AS reasons
        FROM measurements
        WHERE cache = 'warm'
          AND """
    + COUNTED
    + """
          AND isNotNull(median_us)
          AND measured_at <= {at:DateTime64(6, 'UTC')}
          AND fingerprint IN (SELECT fingerprint FROM measurements WHERE slowed_by != '')
        GROUP BY fingerprint, system_id, precision
        -- An undisturbed time that is about the same says that the best was not slowed down.
        HAVING reasons != ''
           AND ifNull(minIf(median_us, slowed_by = ''), inf) > 1.02 * min(median_us)
    )
SELECT
    event_id,
    CAST(
        (
            count(),
            arraySort(groupUniqArrayArray(splitByString(', ', reasons))),
            arrayFilter(name -> name != '', arraySort(groupUniqArray(title)))
        ),
        'Tuple(calls UInt64, by Array(String), layers Array(String))') AS slowed
FROM
(
    SELECT event_id, system_id, precision, arrayJoin(cover) AS fingerprint
    FROM
    (
        -- The models of an architecture share its bound.
        SELECT DISTINCT event_id, system_id, precision, cover
        FROM bounds_at(at = {at:DateTime64(6, 'UTC')})
        WHERE model_id IN chosen AND {accounting:String} IN ('', accounting)
    )
) AS used
INNER JOIN slowed_layers USING (fingerprint, system_id, precision)
LEFT JOIN (SELECT fingerprint, title FROM layers FINAL) AS layers USING (fingerprint)
GROUP BY event_id
"""
)
"""What slowed down calls of those bounds of `BOUNDS` that have such calls, by `event_id`."""

ANY_SLOWED_CALLS = "SELECT 1 AS slowed FROM measurements WHERE slowed_by != '' LIMIT 1"
"""A row if there is anything that `SLOWED_CALLS` could find."""

BEATEN_BY = """
WITH
    newest AS
    (
        SELECT *
        FROM architecture_bounds
        WHERE accounting = 'full' AND fusion AND computed_at <= {at:DateTime64(6, 'UTC')}
        ORDER BY claim DESC, computed_at DESC, event_id DESC
        LIMIT 1 BY architecture_id, system_id, precision
    ),
    runs AS
    (
        SELECT architecture_id, system_id, precision, way.1 AS run_as, way.2 AS run_us
        FROM (SELECT * FROM witnesses FINAL INNER JOIN model_architectures USING (model_id)) AS run
        ARRAY JOIN
        [
            ('one call after the other', sequential_us),
            ('with weights prefetched', read_ahead_us),
            ('on several streams', parallel_us)
        ] AS way
        WHERE witnessed_at <= {at:DateTime64(6, 'UTC')}
          AND (isNull(error) OR isNull(allowed_error) OR error <= allowed_error)
        UNION ALL
        SELECT
            run.architecture_id AS architecture_id,
            lowest.system_id AS system_id,
            run.precision AS precision,
            concat(framework, ' ', version, ', ', configuration) AS run_as,
            median_us AS run_us
        FROM (SELECT * FROM profiles FINAL INNER JOIN model_architectures USING (model_id)) AS run
        INNER JOIN
        (
            SELECT
                architecture_id, precision, systems.device AS device,
                argMin(newest.system_id, (sequential_us, newest.system_id)) AS system_id
            FROM newest
            INNER JOIN (SELECT system_id, device FROM systems FINAL) AS systems
                ON systems.system_id = newest.system_id
            WHERE empty(missing) AND isNotNull(sequential_us)
            GROUP BY architecture_id, precision, systems.device
        ) AS lowest
            ON lowest.device = run.device
           AND lowest.architecture_id = run.architecture_id
           AND lowest.precision = run.precision
        WHERE profiled_at <= {at:DateTime64(6, 'UTC')}
    )
SELECT
    bound.event_id AS bound_id,
    CAST(
        arraySort(run -> run.2, groupUniqArray((run_as, assumeNotNull(run_us)))),
        'Array(Tuple(run_as String, run_us Float64))') AS runs
FROM runs
INNER JOIN newest AS bound
    ON bound.architecture_id = runs.architecture_id
   AND bound.system_id = runs.system_id
   AND bound.precision = runs.precision
WHERE ifNull(
    run_us < 0.99 * if(run_as = 'on several streams', bound.parallel_us, bound.sequential_us), 0)
GROUP BY bound_id
"""
"""The runs below each bound, as of the view `beaten_bounds`, the fastest first: bounds as they were
at `at`, and of what was measured until then.
"""

ANY_RUNS = """
SELECT 1 AS run FROM (SELECT event_id FROM witnesses UNION ALL SELECT event_id FROM profiles)
LIMIT 1
"""
"""A row if there is anything that `BEATEN_BY` could find."""

BOUNDS_STORED = """
SELECT event_id, min(stored_at) AS at FROM stored_bounds
WHERE event_id IN
(
    SELECT event_id FROM architecture_bounds WHERE architecture_id IN {architectures:Array(String)}
)
GROUP BY event_id
"""
"""When the versions of the bounds of some architectures were stored first."""
