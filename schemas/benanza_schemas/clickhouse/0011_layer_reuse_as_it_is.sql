-- What stood at a position before its model was ingested again is no use of a layer any more.

CREATE OR REPLACE VIEW layer_reuse AS
SELECT
    -- What no library computes, such as a Reshape, is in the models only.
    if(layers.title = '', any(used.op), layers.title) AS title,
    used.fingerprint AS fingerprint,
    uniqExact(used.model_id) AS models,
    uniqExact(used.model_id, used.grouped, used.position) AS uses
FROM
(
    SELECT fingerprint, op, model_id, position, false AS grouped FROM model_layers FINAL
    WHERE fingerprint != ''
    UNION ALL
    SELECT fingerprint, '' AS op, model_id, position, true AS grouped FROM model_groups FINAL
) AS used
LEFT JOIN (SELECT * FROM layers FINAL) AS layers ON layers.fingerprint = used.fingerprint
GROUP BY used.fingerprint, layers.title
COMMENT 'For each layer: how many models contain it, and how often they use it in all';
