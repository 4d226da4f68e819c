"""What an evaluation is asked for."""

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

import msgspec

from benanza_backbone.errors import BenanzaError
from benanza_schemas.layer import Precision

Scenario = Literal["single-stream", "multi-stream", "server", "offline"]
"""As MLPerf's LoadGen has them: one request after the other; several samples at once, one such
request after the other; requests at random times (Poisson); all samples at once.
"""

SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)

MOST_AT_ONCE = 1_024
"""Samples. A model is loaded at each power of two up to what is asked for."""

MOST_S = 86_400.0
MOST_US = 1e9
MOST_PER_S = 1e6
"""A day, a thousand seconds, and a million requests a second, all of which LoadGen makes before it
starts.
"""

Seconds = Annotated[float, msgspec.Meta(gt=0, le=MOST_S)]
Microseconds = Annotated[float, msgspec.Meta(gt=0, le=MOST_US)]
Wait = Annotated[float, msgspec.Meta(ge=0, le=MOST_US)]
"""In microseconds."""

PerSecond = Annotated[float, msgspec.Meta(gt=0, le=MOST_PER_S)]
Share = Annotated[float, msgspec.Meta(gt=0, le=0.99999)]
"""Of requests. For more of them LoadGen's check would need millions."""

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
    request takes alone, or what waiting for a batch takes if that is more; with no `rate_per_s`,
    the greatest rate at which it does is searched.
    """

    model: str
    framework: str = "onnxruntime"
    configuration: str = ""
    precision: Precision = "fp32"
    scenario: Scenario = "single-stream"
    dims: Mapping[str, int] = {}
    seeds: Seeds = Seeds()
    duration_s: Seconds = 10.0
    max_batch: AtOnce = 8
    max_wait_us: Wait = 2_000.0
    limit_us: Microseconds | None = None
    percentile: Share = 0.99
    rate_per_s: PerSecond | None = None
    streams: AtOnce = 8
    """Samples of a request of multi-stream."""


def check_request(request: EvaluationRequest) -> None:
    """Raises `BenanzaError` if a field is out of its range."""
    try:
        msgspec.convert(msgspec.to_builtins(request), EvaluationRequest)
    except msgspec.ValidationError as error:
        raise BenanzaError(f"this evaluation can't be run: {error}") from error
