"""One small model, measured: events of every kind that belong together.

`Net` is Conv, Relu, Reshape and a Custom operator that nothing can run. Conv+Relu is a group.
"""

from datetime import UTC, datetime, timedelta

import msgspec

from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    Ceiling,
    CheckpointIngested,
    DeadLetter,
    DeadLetterSettled,
    EvaluationTaken,
    FrameworkCall,
    FrameworkKernel,
    Group,
    LayerMeasured,
    LayerSeen,
    LayerSummary,
    LayerUse,
    Missing,
    ModelEvaluated,
    ModelIngested,
    ModelProfiled,
    ModelPublished,
    ModelWitnessed,
    RecordingWithdrawn,
    RunTimes,
    System,
    SystemMeasured,
    Variant,
    event_id,
    identified,
)
from benanza_schemas.identity import fingerprint
from benanza_schemas.layer import Attribute, Layer, Operator, Tensor, TensorValue
from benanza_schemas.vocabulary import CacheState, StoppedBy

NOON = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)
MODEL_ID = event_id("model", "Net", "1")


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


CONV = Layer(
    tensors=(
        Tensor("float32", (1, 3, 8, 8)),
        Tensor("float32", (4, 3, 3, 3), constant=True),
        Tensor("float32", (1, 4, 6, 6)),
    ),
    operators=(
        Operator(
            op_type="Conv",
            domain="",
            version=11,
            attributes=(
                Attribute("auto_pad", "NOTSET"),
                Attribute("group", 1),
                Attribute("kernel_shape", (3, 3)),
                Attribute("mask", TensorValue("int64", (2,), bytes(16))),
            ),
            inputs=(0, 1),
            outputs=(2,),
        ),
    ),
    outputs=(2,),
)
RELU_OPERATOR = Operator("Relu", "", 14, (), (0,), (1,))
RELU = Layer(
    tensors=(Tensor("float32", (1, 4, 6, 6)), Tensor("float32", (1, 4, 6, 6))),
    operators=(RELU_OPERATOR,),
    outputs=(1,),
)
CONV_RELU = Layer(
    tensors=(*CONV.tensors, Tensor("float32", (1, 4, 6, 6))),
    operators=(*CONV.operators, Operator("Relu", "", 14, (), (2,), (3,))),
    outputs=(3,),
)
LAYERS = (CONV, RELU, CONV_RELU)
CONV_ID, RELU_ID, CONV_RELU_ID = (fingerprint(layer) for layer in LAYERS)

PUBLISHED = ModelPublished(
    event_id=event_id("ModelPublished", "Net"), name="Net", sha256="0" * 64, zoo="tests"
)
MODEL = ModelIngested(
    event_id=event_id("ModelIngested", MODEL_ID),
    model_id=MODEL_ID,
    architecture_id=MODEL_ID,
    name="Net",
    zoo="tests",
    sha256="0" * 64,
    opset=17,
    batch=1,
    dims={"height": 8},
    summaries=(
        LayerSummary(
            *("Conv", "", "compute", CONV_ID),
            flops=7776,
            bytes=1776,
            parameters=108,
            least_flops=5184,
            least_weights=432,
            least_fixed=32,
        ),
        LayerSummary("Relu", "", "compute", RELU_ID, flops=144, bytes=1152),
        LayerSummary("Reshape", "", "view", event_id("layer", "Reshape")),
        LayerSummary("Custom", "com.example", "skipped", reason="no shape: say --dim width=8"),
    ),
    layers=(
        LayerUse(0, "conv"),
        LayerUse(1, "relu"),
        LayerUse(1, "relu again"),
        LayerUse(2, "flat"),
        LayerUse(3, "last"),
    ),
    edges=((0, 1), (1, 2), (2, 3), (3, 4)),
    groups=(Group(CONV_RELU_ID, "conv", (0, 1), flops=7920, bytes=1776),),
)
"""A model whose architecture is its own, as before version 10 of the schema."""

CHECKPOINT = CheckpointIngested(
    event_id=event_id("CheckpointIngested", MODEL_ID),
    model_id=MODEL_ID,
    architecture_id=MODEL_ID,
    name="Net",
    zoo="tests",
    sha256="0" * 64,
    opset=17,
    batch=1,
    dims={"height": 8},
    layer_names=tuple(use.name for use in MODEL.layers),
)
SEEN = tuple(
    LayerSeen(
        event_id=event_id("LayerSeen", MODEL.event_id, fingerprint(layer)),
        fingerprint=fingerprint(layer),
        layer=layer,
        model_id=MODEL_ID,
    )
    for layer in LAYERS
)
REQUESTED = tuple(
    BenchmarkRequested(
        event_id=event_id("BenchmarkRequested", seen.fingerprint),
        fingerprint=seen.fingerprint,
        layer=seen.layer,
    )
    for seen in SEEN
)
SYSTEM = identified(
    System(
        system_id="0" * 32,
        runtime="onnxruntime",
        accelerator="",
        driver="",
        cuda="",
        cudnn="",
        cublas="",
        cpu="Some CPU",
        threads=2,
        libraries={"onnxruntime": "1.31.1"},
        method="1",
    )
)
SYSTEM_MEASURED = SystemMeasured(
    event_id=event_id("SystemMeasured", SYSTEM.system_id),
    system=SYSTEM,
    measured_at=NOON,
    ceilings=(Ceiling("bandwidth", "fp32", 2e10, 1e8), Ceiling("flops", "fp32", 1e11, 2e9)),
)


def measured(of: str, *variants: Variant, at: float, failure: str = "") -> LayerMeasured:
    """What was found for a layer, `at` seconds after noon."""
    return LayerMeasured(
        event_id=event_id("LayerMeasured", of, SYSTEM.system_id, "fp32"),
        fingerprint=of,
        system=SYSTEM,
        precision="fp32",
        measured_at=after(at),
        variants=variants,
        environment={"load_average": "0.1"},
        failure=failure,
    )


def variant(algorithm: str, median_us: float, *, cache: CacheState = CacheState.WARM) -> Variant:
    """A variant that worked."""
    return Variant(
        library="onnxruntime",
        algorithm=algorithm,
        cache=cache,
        samples_us=(median_us + 1.1, median_us, median_us - 0.1),
        minimum_us=median_us - 0.1,
        median_us=median_us,
        iqr_us=0.6,
        stopped_by=StoppedBy.CONVERGED,
        workspace_bytes=64,
    )


def failed(algorithm: str, reason: str) -> Variant:
    """A variant that failed."""
    return Variant(library="onnxruntime", algorithm=algorithm, failure=reason)


CONV_MEASURED = measured(
    CONV_ID,
    failed("winograd", "not for this shape"),
    msgspec.structs.replace(variant("direct", 20.0), chosen_by_heuristic=True),
    variant("gemm", 10.25),
    variant("gemm", 3.0, cache=CacheState.COLD),
    at=1,
)
RELU_MEASURED = measured(RELU_ID, variant("default", 2.5), at=2)
GROUP_MEASURED = measured(CONV_RELU_ID, at=3, failure="the runtime can't fuse it")


def bound(
    *,
    cause: str,
    at: float,
    sequential_us: float | None,
    missing: tuple[Missing, ...] = (),
    fusion: bool = False,
    architecture_id: str = MODEL_ID,
) -> BoundUpdated:
    """A version of the bound, computed `at` seconds after noon."""
    key = (architecture_id, SYSTEM.system_id, "fp32", "full", str(fusion), cause)
    lacking = {position for why in missing for position in why.layers}
    spread_us = None if sequential_us is None else sequential_us / 100
    return BoundUpdated(
        event_id=event_id("BoundUpdated", *key),
        architecture_id=architecture_id,
        system_id=SYSTEM.system_id,
        batch=1,
        precision="fp32",
        accounting="full",
        fusion=fusion,
        cause=cause,
        computed_at=after(at),
        sequential_us=sequential_us,
        sequential_spread_us=spread_us,
        parallel_us=sequential_us,
        parallel_spread_us=spread_us,
        roofline_us=0.5,
        attainable_us=None,
        measured=tuple(position for position in (0, 1, 2) if position not in lacking),
        free=(3,),
        not_counted=(),
        missing=missing,
        cover=(CONV_ID, RELU_ID, RELU_ID),
        critical_path=(0, 1, 2),
    )


UNKNOWN = Missing("no shape: say --dim width=8", (4,))
BOUNDS = (
    bound(
        cause=MODEL.event_id,
        at=0.5,
        sequential_us=None,
        missing=(UNKNOWN, Missing("not measured", (0, 1, 2))),
    ),
    bound(
        cause=CONV_MEASURED.event_id,
        at=1.5,
        sequential_us=10.25,
        missing=(UNKNOWN, Missing("not measured", (1, 2))),
    ),
    bound(cause=RELU_MEASURED.event_id, at=2.5, sequential_us=15.25, missing=(UNKNOWN,)),
)
WITNESSED = ModelWitnessed(
    event_id=event_id("ModelWitnessed", BOUNDS[-1].event_id),
    model_id=MODEL_ID,
    system_id=SYSTEM.system_id,
    bound_id=BOUNDS[-1].event_id,
    precision="fp32",
    batch=1,
    witnessed_at=after(3),
    sequential=RunTimes(16.5, 0.25, (16.5, 16.75)),
    calls=3,
)
PROFILED = ModelProfiled(
    event_id=event_id("ModelProfiled", MODEL_ID),
    model_id=MODEL_ID,
    system=identified(msgspec.structs.replace(SYSTEM, method="")),
    configuration="default options",
    options={"graph_optimization_level": "ORT_ENABLE_ALL"},
    precision="fp32",
    batch=1,
    profiled_at=after(4),
    times=RunTimes(30.5, 0.25, (30.5, 30.75)),
    times_looked_at=RunTimes(32.5, 0.5, (32.5, 33.0)),
    calls=(
        FrameworkCall("reorder", "ReorderInput", (), 0.5, 1.5, 0.25),
        FrameworkCall(
            "conv_nchwc",
            "Conv",
            (0, 1),
            2.25,
            18.5,
            0.75,
            kernels=(FrameworkKernel("pad", 2.25, 1.5), FrameworkKernel("gemm", 4.0, 16.5)),
        ),
    ),
    environment={"stable": "yes", "slowed_by": ""},
)
EVALUATION_TAKEN = EvaluationTaken(
    event_id=event_id("EvaluationTaken", "first"),
    evaluation_id=event_id("EvaluationRequested", "first"),
    system_id=PROFILED.system.system_id,
    agent_id=event_id("Agent", "host"),
    agent="host:7",
    taken_at=after(3),
)
EVALUATED = ModelEvaluated(
    event_id=event_id("ModelEvaluated", "first"),
    evaluation_id=EVALUATION_TAKEN.evaluation_id,
    model_id=MODEL_ID,
    name="resnet50",
    system=PROFILED.system,
    agent_id=EVALUATION_TAKEN.agent_id,
    agent=EVALUATION_TAKEN.agent,
    scenario="server",
    precision="fp32",
    evaluated_at=after(4),
    options={"duration_s": "10.0"},
    figures={"p50_us": 600.0, "p99_us": 800.0, "per_s": 1500.0, "valid": 1.0},
    report="{}",
)
EVALUATED_LATER = msgspec.structs.replace(
    EVALUATED,
    event_id=event_id("ModelEvaluated", "later"),
    evaluation_id=event_id("EvaluationRequested", "later"),
    system=identified(
        msgspec.structs.replace(
            PROFILED.system, libraries=PROFILED.system.libraries | {"onnxruntime": "1.32.0"}
        )
    ),
    evaluated_at=after(60),
    figures={"p50_us": 500.0, "p99_us": 600.0, "per_s": 1800.0, "valid": 1.0},
)
"""With a newer version of the framework."""
DEAD = DeadLetter(
    event_id=event_id("DeadLetter", "models", "0", "7"),
    topic="models",
    partition=0,
    offset=7,
    key=b"k",
    value=b"v",
    service="ingest",
    reason="not MessagePack",
    failed_at=NOON,
)
SETTLED = DeadLetterSettled(
    event_id=event_id("DeadLetterSettled", DEAD.event_id),
    dead_letter_id=DEAD.event_id,
    action="dropped",
    settled_at=after(5),
)
WITHDRAWN = RecordingWithdrawn(
    event_id=event_id("RecordingWithdrawn", "f" * 64), digest="f" * 64, withdrawn_at=NOON
)
"""Of a recording from which nothing was imported."""

EVERY_KIND: tuple[AnyEvent, ...] = (
    PUBLISHED,
    MODEL,
    CHECKPOINT,
    *SEEN,
    *REQUESTED,
    SYSTEM_MEASURED,
    CONV_MEASURED,
    RELU_MEASURED,
    GROUP_MEASURED,
    *BOUNDS,
    WITNESSED,
    PROFILED,
    EVALUATION_TAKEN,
    EVALUATED,
    EVALUATED_LATER,
    DEAD,
    SETTLED,
    WITHDRAWN,
)

OTHER_SYSTEM = identified(msgspec.structs.replace(SYSTEM, threads=4))
"""A system that people call the same."""


def elsewhere(event: LayerMeasured) -> LayerMeasured:
    """The same as the other system measured it, an hour before."""
    return msgspec.structs.replace(
        event,
        event_id=event_id("LayerMeasured", event.fingerprint, OTHER_SYSTEM.system_id),
        system=OTHER_SYSTEM,
        measured_at=after(-3600),
    )
