"""The services: what each reads, and which code it is made of."""

from typing import NamedTuple

from benanza_schemas.consumer_groups import (
    AGENT,
    ANALYZER,
    CONSUMER_GROUPS,
    DEDUPE,
    INGEST,
    RUNNER,
    SINK,
    ConsumerGroup,
)


class ServiceParts(NamedTuple):
    """`process` is what `benanza serve` calls the process that the service runs in. The parts are
    named as `module:name`, since most are slow to import: `core` makes events, or rows, of an
    event; `step` is the core over an event log, which the embedded pipeline runs, too; `serve`
    runs the step over Kafka.
    """

    group: ConsumerGroup
    process: str
    core: str
    step: str
    serve: str


SERVICES = {
    INGEST: ServiceParts(
        CONSUMER_GROUPS[INGEST],
        process=INGEST,
        core="benanza_ingest.core:ingest",
        step="benanza_ingest.step:ingest_step",
        serve="benanza_ingest.service:serve",
    ),
    DEDUPE: ServiceParts(
        CONSUMER_GROUPS[DEDUPE],
        process=DEDUPE,
        core="benanza_dedupe.core:Dedupe",
        step="benanza_dedupe.step:dedupe_step",
        serve="benanza_dedupe.service:serve",
    ),
    RUNNER: ServiceParts(
        CONSUMER_GROUPS[RUNNER],
        process=RUNNER,
        core="benanza_runner.core:Runner",
        step="benanza_runner.step:runner_step",
        serve="benanza_runner.service:serve",
    ),
    AGENT: ServiceParts(
        CONSUMER_GROUPS[AGENT],
        process=AGENT,
        core="benanza.agents.core:evaluated_on",
        step="benanza.agents.serving.step:agent_step",
        serve="benanza.agents.serving.service:serve",
    ),
    ANALYZER: ServiceParts(
        CONSUMER_GROUPS[ANALYZER],
        process=ANALYZER,
        core="benanza_analyzer.core:Analyzer",
        step="benanza_analyzer.step:analyzer_step",
        serve="benanza_analyzer.service:serve",
    ),
    SINK: ServiceParts(
        CONSUMER_GROUPS[SINK],
        process=ANALYZER,
        core="benanza_backbone.clickhouse.rows:rows",
        step="benanza_analyzer.sink:sink_step",
        serve="benanza_analyzer.service:serve",
    ),
}
