"""Small events to test the analyzer with."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

import msgspec

from benanza_analyzer.measurements import SELECTIONS, Best
from benanza_schemas.architecture import architecture_id
from benanza_schemas.events import (
    BoundUpdated,
    Ceiling,
    Group,
    LayerMeasured,
    LayerSummary,
    LayerUse,
    ModelIngested,
    System,
    SystemMeasured,
    Variant,
    event_id,
    identified,
)
from benanza_schemas.layer import Accounting, Kind, Precision
from benanza_schemas.vocabulary import CacheState, StoppedBy

NOW = datetime(2026, 1, 1, tzinfo=UTC)

KINDS: dict[str, Kind] = {
    "Conv": "compute",
    "Relu": "compute",
    "TopK": "compute",
    "Concat": "movement",
    "CastLike": "view",
    "Reshape": "view",
    "Loop": "skipped",
}
"""An operator of each kind; cuDNN and cuBLAS run the first two."""

IN_PAPER = ("Conv", "Relu")

FIGURES = ("sequential_us", "sequential_spread_us", "parallel_us", "parallel_spread_us")
"""What a bound has no figure for where layers are missing and none is measured."""


def is_available(bound: BoundUpdated) -> bool:
    """Whether the bound counts anything, or there is nothing that it would have to count."""
    return bool(bound.measured) or not bound.missing


def figure(us: float | None) -> float:
    """A figure of a bound, to compare it with another's: nothing where it has none."""
    return 0.0 if us is None else us


def system(runtime: str = "test") -> System:
    return identified(
        System(
            system_id="0" * 32,
            runtime=runtime,
            accelerator="",
            driver="",
            cuda="",
            cudnn="",
            cublas="",
            cpu="cpu",
            threads=1,
            libraries={},
            method="1",
        )
    )


def fingerprint(of: str) -> str:
    """The fingerprint of the layer that the tests call so."""
    return event_id("layer", of)


def summary(
    op: str,
    name: str = "",
    *,
    flops: int = 0,
    bytes_moved: int = 0,
    least_flops: int = 0,
    least_weights: int = 0,
) -> LayerSummary:
    """A layer of this type; its name stands for its shape and attributes."""
    if KINDS[op] == "skipped":
        return LayerSummary(op, "", "skipped", reason=f"{op} is not supported")
    return LayerSummary(
        *(op, "", KINDS[op], fingerprint(name or op)),
        flops=flops,
        bytes=bytes_moved,
        least_flops=least_flops,
        least_weights=least_weights,
    )


def group(
    name: str,
    layers: Iterable[int],
    *,
    flops: int = 0,
    bytes_moved: int = 0,
    least_flops: int = 0,
) -> Group:
    return Group(fingerprint(name), "test", tuple(layers), flops, bytes_moved, least_flops)


def model(
    layers: Sequence[LayerSummary],
    edges: Iterable[tuple[int, int]] | None = None,
    groups: Iterable[Group] = (),
    name: str = "model",
) -> ModelIngested:
    """A model of these layers, a chain unless there are edges."""
    summaries = tuple(dict.fromkeys(layers))
    chain = ((n, n + 1) for n in range(len(layers) - 1))
    return with_its_id(
        ModelIngested(
            event_id=event_id("ModelIngested", name),
            model_id=event_id("model", name),
            architecture_id="",
            name=name,
            zoo="",
            sha256="0" * 64,
            opset=20,
            batch=1,
            dims={},
            summaries=summaries,
            layers=tuple(LayerUse(summaries.index(layer), "") for layer in layers),
            edges=tuple(chain if edges is None else edges),
            groups=tuple(groups),
        )
    )


def with_its_id(model: ModelIngested) -> ModelIngested:
    """The model with the id of its architecture."""
    parts = (model.batch, model.summaries, model.layers, model.edges, model.groups)
    return msgspec.structs.replace(model, architecture_id=architecture_id(*parts))


def variant(
    median_us: float | None,
    iqr_us: float = 0.0,
    *,
    failure: str = "",
    cache: CacheState = CacheState.WARM,
    algorithm: str = "algo",
    layout: str = "",
    change_us: float | None = None,
    write_conversion_us: float | None = None,
    stopped_by: StoppedBy = StoppedBy.NOT_SAMPLED,
    library: str = "lib",
) -> Variant:
    """A variant with this median and this spread, or a failed one, which has no median."""
    return Variant(
        library=library,
        algorithm=algorithm,
        cache=cache,
        layout=layout,
        layout_change_us=change_us,
        write_change_us=write_conversion_us,
        samples_us=() if median_us is None else (median_us,),
        minimum_us=median_us,
        median_us=median_us,
        iqr_us=None if median_us is None else iqr_us,
        stopped_by=stopped_by,
        failure=failure,
    )


def in_layouts(first_us: float, last_us: float, conversion_us: float) -> list[Variant]:
    """Variants with channels first and last, and how long conversions between the two take."""
    return [
        variant(us, 0.5, layout=layout, change_us=conversion_us, write_conversion_us=conversion_us)
        for us, layout in ((first_us, "NCHW"), (last_us, "NHWC"))
    ]


def everywhere(outcome: Best | str) -> Sequence[Best] | str:
    """The outcome of a layer for which neither layouts nor libraries make a difference."""
    return outcome if isinstance(outcome, str) else [outcome] * len(SELECTIONS)


def measured(
    of: str,
    *variants: Variant | float,
    failure: str = "",
    precision: Precision = "fp32",
    runtime: str = "test",
) -> LayerMeasured:
    """A measurement of the layer that the tests call so; a number is a variant's median."""
    tried = tuple(v if isinstance(v, Variant) else variant(v) for v in variants)
    return LayerMeasured(
        event_id=event_id("LayerMeasured", of, repr(tried), failure, precision, runtime),
        fingerprint=fingerprint(of),
        system=system(runtime),
        precision=precision,
        measured_at=NOW,
        variants=tried,
        failure=failure,
    )


def ceilings(
    bandwidth: float,
    flops: float,
    precision: Precision = "fp32",
    runtime: str = "test",
    cache_bytes: int = 0,
) -> SystemMeasured:
    """The system's ceilings at one precision, in bytes and operations per second."""
    about = (bandwidth, flops, precision, cache_bytes)
    return SystemMeasured(
        event_id=event_id("SystemMeasured", runtime, repr(about)),
        system=system(runtime),
        measured_at=NOW,
        ceilings=(
            Ceiling("bandwidth", precision, bandwidth, 0.0),
            Ceiling("flops", precision, flops, 0.0),
        ),
        cache_bytes=cache_bytes,
    )


def the(
    updates: Iterable[BoundUpdated], accounting: Accounting = "full", *, fusion: bool = False
) -> BoundUpdated:
    """The last of these updates that is of this kind."""
    return [u for u in updates if u.accounting == accounting and u.fusion == fusion][-1]
