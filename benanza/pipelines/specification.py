"""What a file that specifies a pipeline holds.

The parts are those of DLSpec: hardware, software, data set and model, here with all that stands
between a file of the data set and the figure that is printed. Source: Dakkak et al., "DLSpec: A
Deep Learning Task Exchange Specification", OpML 2020.
"""

import re
from typing import Annotated, Literal

import msgspec

from benanza.evaluating.request import (
    AtOnce,
    Microseconds,
    PerSecond,
    Scenario,
    Seconds,
    Share,
    Wait,
)
from benanza.pipelines.images.steps import Step
from benanza_schemas.layer import Precision

PIPELINE_VERSION = 1

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, msgspec.Meta(ge=1, le=100_000_000)]
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
Metric = Annotated[str, msgspec.Meta(pattern="^top-[1-9][0-9]{0,2}$")]

DataKind = Literal["folder", "datasets"]


class _Part(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What all parts have."""


class PipelineModel(_Part, frozen=True, kw_only=True):
    """The file of the model: a path from the specification's folder, an address or `zoo:NAME`.
    `dims` binds its named dimensions, and what small inputs hold.
    """

    source: str
    sha256: Sha256
    dims: dict[str, int] = {}


class PipelineFramework(_Part, frozen=True, kw_only=True):
    """What runs the model, `batch` samples at a time. The last batch may have fewer."""

    name: str
    version: str
    configuration: str
    precision: Precision
    batch: AtOnce
    options: dict[str, str] = {}


class PipelineData(_Part, frozen=True, kw_only=True):
    """The data set: a `folder` of images, where the folder of an image names its class; or one that
    the package `datasets` loads, with the columns `image` and `label`, by default its only ones of
    images and of classes.

    `source` is a path from the specification's folder, or for `datasets` also a name, of which
    `split` and `revision` say more. `samples` of all are taken, by `seed` where that are not all.
    """

    kind: DataKind
    source: str
    sha256: Sha256
    samples: Count
    seed: Seed = 0
    split: str = ""
    revision: str = ""
    image: str = ""
    label: str = ""


class PipelineOutput(_Part, frozen=True, kw_only=True):
    """What is made of the model's scores, (batch, classes): the classes of the highest scores, of
    equal ones the first. The score at `offset` is that of the first of the `labels`; a score
    without one has no name, and is never right. Of a model with several outputs, `name` is that of
    the scores.
    """

    labels: tuple[str, ...]
    name: str = ""
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0


class PipelineSeeds(_Part, frozen=True, kw_only=True):
    """LoadGen's: of which samples are loaded, of their order, and of the times of requests."""

    samples: Seed = 0
    order: Seed = 0
    schedule: Seed = 0


class PipelineScenario(_Part, frozen=True, kw_only=True):
    """The load under which the pipeline runs, as `EvaluationRequest` has it."""

    name: Scenario
    duration_s: Seconds = 10.0
    max_batch: AtOnce = 8
    max_wait_us: Wait = 2_000.0
    limit_us: Microseconds | None = None
    percentile: Share = 0.99
    rate_per_s: PerSecond | None = None
    streams: AtOnce = 8
    seeds: PipelineSeeds = PipelineSeeds()


class RecordedStep(_Part, frozen=True, kw_only=True):
    """A step that ran, and for each witness the digest of the array behind it."""

    did: Step
    digests: tuple[str, ...]


class RecordedMetric(_Part, frozen=True, kw_only=True):
    """How many of the samples were right."""

    name: Metric
    right: Annotated[int, msgspec.Meta(ge=0)]
    samples: Count


class RecordedSpeed(_Part, frozen=True, kw_only=True):
    """Median times of a sample's pre-processing and of a batch in the model, in microseconds."""

    preparing_us: float
    model_us: float


class RecordedLoad(_Part, frozen=True, kw_only=True):
    """What the scenario came to: whether LoadGen calls it valid, samples per second, and LoadGen's
    latencies in microseconds, which the offline scenario has none of.
    """

    valid: bool
    per_s: float
    p50_us: float | None = None
    p99_us: float | None = None


class Recorded(_Part, frozen=True, kw_only=True):
    """What came of the pipeline when it was recorded, and with what, so that what is changed in the
    file afterwards shows.

    `witnesses` are the samples of which the steps have digests. `predictions` is the SHA-256 of
    the positions of the highest scores, of all samples.
    """

    at: str
    model_sha256: Sha256
    model_dims: dict[str, int] = {}
    data: PipelineData
    witnesses: tuple[str, ...]
    predictions: Sha256
    failed: Annotated[int, msgspec.Meta(ge=0)]
    metrics: tuple[RecordedMetric, ...]
    speed: RecordedSpeed
    framework: PipelineFramework
    output: PipelineOutput
    steps: tuple[RecordedStep, ...]
    under_load: RecordedLoad | None = None


class PipelineSpecification(_Part, frozen=True, kw_only=True):
    """A pipeline, under the load of a `scenario` if there is one.

    `software` has versions of what the steps and the framework run in, `hardware`
    the machine, both by names of their own, and only what is known of them.
    """

    version: int
    metrics: tuple[Metric, ...]
    model: PipelineModel
    framework: PipelineFramework
    data: PipelineData
    steps: tuple[Step, ...]
    output: PipelineOutput
    scenario: PipelineScenario | None = None
    software: dict[str, str] = {}
    hardware: dict[str, str] = {}
    recorded: Recorded | None = None


def top(metric: Metric) -> int:
    """Of how many classes one has to be right."""
    (number,) = re.findall(r"\d+", metric)
    return int(number)
