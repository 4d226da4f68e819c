"""Events of layers: contained in a model, known, to be benchmarked."""

from benanza_schemas.events.event import Event
from benanza_schemas.layer import Layer
from benanza_schemas.limits import Hash, Hashes, Name


class LayerSeen(Event, frozen=True, kw_only=True):
    """A model contains this layer, group or network. Topic `layers`, key `fingerprint`.

    `rule` names the rule that proposed a group; it is empty for a single operator and a network.
    """

    fingerprint: Hash
    layer: Layer
    model_id: Hash
    rule: Name = ""


class LayerKnown(Event, frozen=True, kw_only=True):
    """This layer has a job already. Topic `layers`, key `fingerprint`.

    Dedupe counts the layer as seen, and makes no job for it. It is published for layers whose
    jobs are known from elsewhere.
    """

    fingerprint: Hash


class BenchmarkRequested(Event, frozen=True, kw_only=True):
    """A layer is to be benchmarked; published once per layer. Topic `jobs`, key `fingerprint`.

    With `after`, ids of `LayerMeasured`, the layer is to be benchmarked again, by the systems on
    which all its results are among these; other systems ignore the event.
    """

    fingerprint: Hash
    layer: Layer
    after: Hashes = ()
