"""What the store of weights counts, for Prometheus."""

from prometheus_client import Counter, Gauge

from benanza_backbone.telemetry import REGISTRY

BYTES = Gauge(
    "benanza_weights_bytes",
    "Bytes of weights that the store holds",
    ["tier"],
    registry=REGISTRY,
)
HITS = Counter(
    "benanza_weights_hits",
    "Leases whose weights were in this tier",
    ["tier"],
    registry=REGISTRY,
)
MISSES = Counter(
    "benanza_weights_misses",
    "Leases whose weights had to be read from their source",
    registry=REGISTRY,
)
EVICTIONS = Counter(
    "benanza_weights_evictions",
    "Models that a tier gave up to make room",
    ["tier"],
    registry=REGISTRY,
)
REFUSED = Counter(
    "benanza_weights_refused",
    "Requests that were refused",
    registry=REGISTRY,
)
LEASES = Gauge(
    "benanza_weights_leases",
    "Leases that tenants hold now",
    registry=REGISTRY,
)
