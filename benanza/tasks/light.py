"""The speed of light of a task's layer, by what is known of the system and not by what a file says.

A task is a file that anybody may change; its layer is told by its fingerprint.
"""

from benanza_analyzer.limits.ceilings import SystemCeilings
from benanza_analyzer.limits.speed_of_light import SpeedOfLight, speed_of_light, work_of_call
from benanza_analyzer.models.integers import may_compute_with_integers
from benanza_backbone.event_log.event_log import EventLog
from benanza_backbone.event_log.readable import events_of
from benanza_ingest.layering.costs import moved_bytes
from benanza_ingest.least_work.least_flops import least_flops
from benanza_schemas.events import SystemMeasured
from benanza_schemas.layer import Layer, Precision
from benanza_schemas.topics import RESULTS


def light_of(log: EventLog, system_id: str, layer: Layer, precision: Precision) -> SpeedOfLight:
    """The least time of a layer by all ceilings in the log that were measured of the system; 0
    where none are.

    `layer` is in the model's own types. Raises `BenanzaError` as `EventLog.records` does.
    """
    ceilings = SystemCeilings()
    for event in events_of(log, RESULTS, SystemMeasured, (system_id.encode(),)):
        ceilings.add(event)
    flops = 0 if may_compute_with_integers(layer) else least_flops(layer)
    work = work_of_call(moved_bytes(layer), flops)
    return speed_of_light(work, ceilings.values(precision), precision)
