"""The SQL of models that have no bound yet."""

_WITHOUT_BOUND = """
    SELECT name, model_id, architecture_id, batch, dims
    FROM known_models
    WHERE (empty({models:Array(String)}) OR has({models:Array(String)}, model_id))
      AND architecture_id NOT IN
      (
          SELECT architecture_id FROM architecture_bounds
          WHERE (empty({precisions:Array(String)}) OR has({precisions:Array(String)}, precision))
            AND accounting = {accounting:String} AND fusion = {fusion:Bool}
      )
"""

_LAYERS_OF = f"""
    SELECT architecture_id, fingerprint FROM architecture_layers
    WHERE kind IN ('compute', 'movement')
      AND architecture_id IN (SELECT architecture_id FROM ({_WITHOUT_BOUND}))
    UNION DISTINCT
    SELECT architecture_id, fingerprint FROM architecture_groups
    WHERE architecture_id IN (SELECT architecture_id FROM ({_WITHOUT_BOUND}))
"""

MODELS = f"""
SELECT model.name AS model, model_id, architecture_id, batch, dims, part.layers AS layers
FROM ({_WITHOUT_BOUND}) AS model
LEFT JOIN
(
    SELECT architecture_id, count() AS layers FROM ({_LAYERS_OF}) GROUP BY architecture_id
) AS part ON part.architecture_id = model.architecture_id
ORDER BY model, batch, model_id
"""

MEASURED = f"""
WITH tried AS
(
    SELECT DISTINCT fingerprint, system_id, precision
    FROM measurements
    WHERE empty({{precisions:Array(String)}}) OR has({{precisions:Array(String)}}, precision)
)
SELECT
    part.architecture_id AS architecture_id,
    tried.system_id AS system_id,
    any(if(systems.accelerator = '', systems.cpu, systems.accelerator)) AS system,
    tried.precision AS precision,
    count() AS layers
FROM ({_LAYERS_OF}) AS part
INNER JOIN tried ON tried.fingerprint = part.fingerprint
LEFT JOIN (SELECT * FROM systems FINAL) AS systems ON systems.system_id = tried.system_id
GROUP BY architecture_id, system_id, precision
ORDER BY architecture_id, layers DESC, system_id, precision
"""
