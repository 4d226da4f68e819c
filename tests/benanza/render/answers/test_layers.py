"""The unique layers that are known, as people read them."""

import io
from typing import Any

from msgspec.structs import replace

from benanza.render.answers.layers import NONE_KNOWN, layers_html, print_layers
from benanza.render.table import console
from benanza.results.inspect import KnownLayer, KnownLayers, LayerTime

TIME = LayerTime(
    system="Some GPU",
    runtime="cuda",
    system_id="a" * 32,
    precision="fp16",
    us=40.0,
    iqr_us=0.5,
    library="cudnn-graph",
    algorithm="engine 39",
    layout="NHWC",
    failure="",
)
CONV = KnownLayer(
    title="Conv",
    kind="layer",
    fingerprint="1" * 32,
    outputs=((1, 64, 56, 56),),
    dtype="",
    models=3,
    architectures=2,
    uses=1_200,
    times=(TIME,),
)


def untimed(failure: str = "", **changes: Any) -> LayerTime:
    return replace(
        TIME, us=None, iqr_us=None, library="", algorithm="", layout="", failure=failure, **changes
    )


def but(layer: KnownLayer = CONV, **changes: Any) -> KnownLayer:
    return replace(layer, **changes)


GROUP = but(
    title="A+B+C+D+E",
    kind="group",
    fingerprint="2" * 32,
    uses=1,
    times=(untimed("no call\x1b[2J of cuDNN"),),
)
WAITING = but(title="Relu", fingerprint="3" * 32, times=(untimed(),))
NETWORK = but(
    title="Conv+Relu",
    kind="network",
    fingerprint="4" * 32,
    models=0,
    architectures=0,
    uses=0,
    times=(replace(TIME, us=90.0, library="onnxruntime", algorithm="default", layout=""),),
)


def printed(*layers: KnownLayer, limit: int = 20) -> list[str]:
    stream = io.StringIO()
    print_layers(console(stream), KnownLayers(layers=layers), limit)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_layers_with_their_times_or_the_reason_why_not() -> None:
    title, conv, network, group, relu, on = printed(CONV, NETWORK, GROUP, WAITING)
    assert title.split() == [
        "operators", "kind", "output", "fingerprint", "models", "uses",
        "each", "µs", "in", "all", "µs", "algorithm",
    ]  # fmt: skip
    assert conv.split() == [
        "Conv", "layer", "1×64×56×56", "1" * 12, "3", "1,200", "40.0", "48,000.0",
        "cudnn-graph:", "engine", "39,", "NHWC",
    ]  # fmt: skip
    assert network.split()[-6:] == ["-", "-", "90.0", "90.0", "onnxruntime:", "default"]
    assert group.startswith("A+B+C+D+… (5)  group ")
    assert group.endswith("-  failed: no call\\x1b[2J of cuDNN")
    assert relu.endswith("-  waits")
    assert on == (
        "2 unique layers, 1 group, 1 network, measured on Some GPU with cuda at fp16; "
        "1 failed; 1 waits"
    )


def test_a_type_that_no_precision_changes_is_told() -> None:
    _, conv, _ = printed(but(dtype="uint8"))
    assert conv.split()[2:5] == ["1×64×56×56", "uint8", "1" * 12]


def test_each_system_and_precision_has_a_table_of_its_own_order() -> None:
    there = replace(TIME, system_id="b" * 32, us=1.0)
    relu = but(WAITING, times=(untimed(), replace(there, us=3.0)))
    lines = printed(but(times=(TIME, there)), relu)
    assert [line.split()[0] for line in lines] == [
        "operators", "Conv", "Relu", "2", "operators", "Relu", "Conv", "2",
    ]  # fmt: skip
    assert lines[3].endswith("measured on Some GPU (aaaaaaaa) with cuda at fp16; 1 waits")
    assert lines[-1].endswith("measured on Some GPU (bbbbbbbb) with cuda at fp16")


def test_no_more_rows_than_asked_for() -> None:
    lines = printed(*(but(fingerprint=digit * 32) for digit in "123"), limit=2)
    assert len(lines) == 4
    assert lines[-1] == (
        "3 unique layers, measured on Some GPU with cuda at fp16; "
        "1 more than shown: --limit shows more, --format json all"
    )


def test_where_nothing_is_measured_the_layers_are_told() -> None:
    _, conv, on = printed(but(times=()))
    assert conv.split()[-3:] == ["-", "-", "waits"]
    assert on == "1 unique layer, none of them measured"
    assert printed() == [NONE_KNOWN]


def test_a_notebook_shows_the_same() -> None:
    page = layers_html(KnownLayers(layers=(CONV, WAITING)))
    assert page.startswith("<table")
    assert "engine 39" in page
    assert "1 waits" in page
    assert KnownLayers(layers=(CONV,)).to_dict()["layers"][0]["times"][0]["us"] == 40.0
