"""An event of each kind with every field set: what the golden bytes of version 16 say."""

from datetime import UTC, datetime

import msgspec

from benanza_schemas.events import (
    AnyEvent,
    BenchmarkRequested,
    BoundUpdated,
    Ceiling,
    CheckpointIngested,
    DeadLetter,
    DeadLetterSettled,
    FrameworkCall,
    FrameworkKernel,
    Group,
    LayerKnown,
    LayerMeasured,
    LayerSeen,
    LayerSummary,
    LayerUse,
    Missing,
    ModelIngested,
    ModelProfiled,
    ModelPublished,
    ModelWitnessed,
    RecordingWithdrawn,
    RunTimes,
    System,
    SystemMeasured,
    Variant,
)
from benanza_schemas.layer import OMITTED, Attribute, Layer, Operator, Tensor, TensorValue
from benanza_schemas.vocabulary import CacheState, StoppedBy

SHA256 = "0123456789abcdef" * 4
NOON = datetime(2026, 11, 21, 12, 0, 0, 123456, tzinfo=UTC)


def some_id(digit: str) -> str:
    """A hash that is easy to see."""
    return digit * 32


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
                Attribute("dilations", (1, 1)),
                Attribute("group", 1),
                Attribute("kernel_shape", (3, 3)),
                Attribute("pads", (0, 0, 0, 0)),
                Attribute("strides", (1, 1)),
            ),
            inputs=(0, 1),
            outputs=(2,),
        ),
    ),
    outputs=(2,),
)
"""An ordinary layer."""

CONV_CLIP = Layer(
    tensors=(
        *CONV.tensors,
        Tensor("float32", (), constant=True, value=b"\x00\x00\xc0\x40"),
        Tensor("float32", (1, 4, 6, 6)),
    ),
    operators=(*CONV.operators, Operator("Clip", "", 13, (), (2, OMITTED, 3), (4,))),
    outputs=(4,),
)
"""A group: a convolution and a ReLU6 without its lower end."""

EVERY_ATTRIBUTE = Layer(
    tensors=(Tensor("int4", (2, 3)), Tensor("bfloat16", (0,))),
    operators=(
        Operator(
            op_type="Anything",
            domain="com.example",
            version=3,
            attributes=(
                Attribute("float", 0.5),
                Attribute("floats", (1.0, -2.5)),
                Attribute("int", -(2**63)),
                Attribute("ints", (0, 2**63 - 1)),
                Attribute("string", "µ"),
                Attribute("strings", ("a", "")),
                Attribute("tensor", TensorValue("int64", (2,), bytes(range(16)))),
            ),
            inputs=(0,),
            outputs=(1,),
        ),
    ),
    outputs=(1,),
)
"""An attribute of each type that there is."""

SYSTEM = System(
    system_id=some_id("e"),
    runtime="onnxruntime",
    accelerator="NVIDIA H200",
    driver="580.65.06",
    cuda="13.0",
    cudnn="9.14.0",
    cublas="13.1.0",
    cpu="AMD EPYC 9554",
    threads=2,
    libraries={"onnxruntime": "1.31.1"},
    method="1",
)

VARIANTS = (
    Variant(
        library="onnxruntime",
        algorithm="CPUExecutionProvider",
        layout="NCHW",
        cache=CacheState.WEIGHTS_COLD,
        samples_us=(10.5, 11.0, 10.75),
        minimum_us=10.5,
        median_us=10.75,
        iqr_us=0.25,
        stopped_by=StoppedBy.CONVERGED,
        workspace_bytes=4096,
        layout_change_us=1.5,
        write_change_us=0.75,
        chosen_by_heuristic=True,
    ),
    Variant(library="onnxruntime", algorithm="direct", failure="out of memory"),
)

EVENTS: tuple[AnyEvent, ...] = (
    ModelPublished(
        event_id=some_id("1"),
        name="resnet50",
        sha256=SHA256,
        zoo="onnx",
        uri="file:///models/resnet50.onnx",
        content=b"\x08\x0a\xff",
        content_encoding="xz",
        batch_sizes=(1, 8),
        dims={"past": 0, "sequence": 128},
        granularity=4,
        quantised="int4",
        tensor_parallel=2,
    ),
    ModelIngested(
        event_id=some_id("2"),
        model_id=some_id("a"),
        architecture_id=some_id("1"),
        name="resnet50",
        zoo="onnx",
        sha256=SHA256,
        opset=21,
        batch=8,
        dims={"past": 0, "sequence": 128},
        summaries=(
            LayerSummary("Conv", "", "compute", some_id("b"), 7776, 1776, 108, "", 3888, 432),
            LayerSummary("Clip", "", "compute", some_id("c"), 144, 1156, 0),
            LayerSummary("Foo", "com.example", "skipped", reason="com.example::Foo isn't known"),
        ),
        layers=(LayerUse(0, "conv1"), LayerUse(1, ""), LayerUse(2, "foo")),
        edges=((0, 1), (1, 2)),
        groups=(Group(some_id("d"), "epilogue", (0, 1), 7920, 1780, 3888),),
        quantised="int4",
        tensor_parallel=2,
    ),
    CheckpointIngested(
        event_id=some_id("9"),
        model_id=some_id("a"),
        architecture_id=some_id("1"),
        name="resnet50",
        zoo="onnx",
        sha256=SHA256,
        opset=21,
        batch=8,
        dims={"past": 0, "sequence": 128},
        layer_names=("conv1", "", "foo"),
        published_id=some_id("1"),
        quantised="int4",
        tensor_parallel=2,
    ),
    LayerSeen(
        event_id=some_id("3"),
        fingerprint=some_id("d"),
        layer=CONV_CLIP,
        model_id=some_id("a"),
        rule="epilogue",
    ),
    LayerKnown(event_id=some_id("0"), fingerprint=some_id("d")),
    BenchmarkRequested(
        event_id=some_id("4"),
        fingerprint=some_id("f"),
        layer=msgspec.structs.replace(EVERY_ATTRIBUTE, execution="network"),
        after=(some_id("6"), some_id("7")),
    ),
    SystemMeasured(
        event_id=some_id("5"),
        system=SYSTEM,
        measured_at=NOON,
        ceilings=(
            Ceiling("bandwidth", "fp32", 2.5e10, 1e8),
            Ceiling("flops", "bf16", 9.5e14, 0.0),
        ),
        cache_bytes=62_914_560,
        imported_from=SHA256,
    ),
    LayerMeasured(
        event_id=some_id("6"),
        fingerprint=some_id("b"),
        system=SYSTEM,
        precision="tf32",
        measured_at=NOON,
        variants=VARIANTS,
        environment={"load": "0.5"},
        failure="",
    ),
    BoundUpdated(
        event_id=some_id("7"),
        architecture_id=some_id("1"),
        system_id=some_id("e"),
        batch=8,
        precision="fp16",
        accounting="full",
        fusion=True,
        cause=some_id("6"),
        computed_at=NOON,
        sequential_us=10.75,
        sequential_spread_us=0.25,
        parallel_us=10.75,
        parallel_spread_us=0.25,
        roofline_us=3.5,
        attainable_us=None,
        measured=(0,),
        free=(),
        not_counted=(1,),
        missing=(Missing("com.example::Foo isn't known", (2,)),),
        cover=(some_id("b"),),
        critical_path=(0,),
        layout="NHWC",
        claim=1_795_766_400_000_000,
        limited_by="latency",
        attainable_error_us=0.5,
    ),
    ModelWitnessed(
        event_id=some_id("b"),
        model_id=some_id("a"),
        system_id=some_id("e"),
        bound_id=some_id("7"),
        precision="fp16",
        batch=8,
        witnessed_at=NOON,
        sequential=RunTimes(11.5, 0.125, (11.5, 11.625)),
        read_ahead=RunTimes(10.5, 0.25, (10.5, 10.75)),
        parallel=RunTimes(9.5, 0.0, (9.5,)),
        calls=2,
        layout_changes=1,
        error=0.001,
        allowed_error=0.02,
        imported_from=SHA256,
        failure="",
        policy="without fusion",
        predicted_us=11.0,
    ),
    ModelProfiled(
        event_id=some_id("c"),
        model_id=some_id("a"),
        system=SYSTEM,
        configuration="default options",
        options={"graph_optimization_level": "ORT_ENABLE_ALL"},
        precision="fp32",
        batch=8,
        profiled_at=NOON,
        times=RunTimes(21.5, 0.125, (21.5, 21.625)),
        times_looked_at=RunTimes(23.5, 0.5, (23.5, 24.0)),
        calls=(
            FrameworkCall("reorder", "ReorderInput", (), 0.5, 1.5, 0.25),
            FrameworkCall(
                "conv_nchwc",
                "Conv",
                (0, 1),
                2.25,
                18.5,
                0.75,
                kernels=(FrameworkKernel("implicit_gemm", 2.25, 17.5),),
            ),
        ),
        environment={"stable": "no", "slowed_by": "other programs"},
        failure="",
    ),
    DeadLetter(
        event_id=some_id("8"),
        topic="models",
        partition=3,
        offset=2**40,
        key=b"\x00\xff",
        value=b"",
        service="ingest",
        reason="not MessagePack",
        failed_at=NOON,
    ),
    DeadLetterSettled(
        event_id=some_id("9"),
        dead_letter_id=some_id("8"),
        action="replayed",
        settled_at=NOON,
    ),
    RecordingWithdrawn(
        event_id=some_id("2"),
        digest=SHA256,
        withdrawn_at=NOON,
        model_id=some_id("a"),
    ),
)
