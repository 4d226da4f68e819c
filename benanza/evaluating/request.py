"""What an evaluation is asked for."""

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

import msgspec

from benanza_schemas.layer import Precision

Scenario = Literal["single-stream", "multi-stream", "server", "offline"]
"""As MLPerf's LoadGen has them: one request after the other; several samples at once, one such
request after the other; requests at random times (Poisson); all samples at once.
"""

SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

MOST_AT_ONCE = 1_024
"""Samples. A model is loaded at each power of two up to what is asked for."""

AtOnce = Annotated[int, msgspec.Meta(ge=1, le=MOST_AT_ONCE)]
"""How many samples run at once."""


class Seeds(msgspec.Struct, frozen=True):
    """LoadGen's: of which samples are loaded, of their order, and of the times of requests."""

    samples: int = 0
    order: int = 0
    schedule: int = 0


class EvaluationRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A model in a framework under a scenario. `model` is as for `benanza run`; `dims` binds its
    named dimensions; of the framework it is the `configuration` of this name, by default the first.
    Times are what LoadGen is set to, so a run takes at least as long.

    Batches are of up to `max_batch` samples. The server waits up to `max_wait_us` for a batch to
    fill. It must answer `percentile` of the requests within `limit_us`, by default ten times what a
    request takes alone; with no `rate_per_s`, the greatest rate at which it does is searched.
    """

    model: str
    framework: str = "onnxruntime"
    configuration: str = ""
    precision: Precision = "fp32"
    scenario: Scenario = "single-stream"
    dims: Mapping[str, int] = {}
    seeds: Seeds = Seeds()
    duration_s: float = 10.0
    max_batch: AtOnce = 8
    max_wait_us: float = 2_000.0
    limit_us: float | None = None
    percentile: float = 0.99
    rate_per_s: float | None = None
    streams: AtOnce = 8
    """Samples of a request of multi-stream."""
