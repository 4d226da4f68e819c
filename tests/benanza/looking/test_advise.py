"""Advice about runs of a framework, from profiles and bounds that were made up."""

from math import fsum
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.installation.embedded import opened_log
from benanza.looking.advise import advice_about, known_advice
from benanza.looking.questions import known_answers
from benanza.profiling.beside_bound import _are_of
from benanza.results.advise import Advice
from benanza.results.profile import CopiedStates, ProfiledCall, ProfiledPart, contradiction
from benanza_analyzer.answers.inefficiency import inefficiencies
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings, load
from benanza_schemas.events import (
    AnyEvent,
    FrameworkCall,
    LayerMeasured,
    ModelProfiled,
    RunTimes,
    event_id,
    identified,
)
from benanza_schemas.layer import Precision
from tests.analyzer.answers.test_differences import covers
from tests.backbone.conftest import copy_empty_store
from tests.backbone.sample_events import (
    CONV_ID,
    CONV_RELU_ID,
    MODEL,
    PROFILED,
    RELU_ID,
    SYSTEM_MEASURED,
    measured,
    variant,
)
from tests.benanza.render.answers.test_profile import PROFILE

FULL = msgspec.structs.replace(MODEL, layers=MODEL.layers[:4], edges=MODEL.edges[:3])
"""The sample model without its layer that is skipped: Conv, Relu, Relu, and a view."""

MEASURED = (
    measured(CONV_ID, variant("direct", 10.0), at=1),
    measured(RELU_ID, variant("default", 3.0), at=2),
    measured(CONV_RELU_ID, variant("fused", 11.0), at=3),
)
"""The bound is 11 + 3 µs, in two calls."""


def call(op: str, start_us: float, us: float, *layers: int) -> FrameworkCall:
    return FrameworkCall(f"{op}{start_us}", op, layers, start_us, us, 0.5)


def profiled(configuration: str, us: float, *calls: FrameworkCall) -> ModelProfiled:
    return msgspec.structs.replace(
        PROFILED,
        event_id=event_id("ModelProfiled", configuration),
        configuration=configuration,
        times=RunTimes(us, 0.5, (us,)),
        times_looked_at=RunTimes(us + 1.0, 0.5, (us + 1.0,)),
        calls=calls,
    )


APART = profiled(
    "no optimisations",
    30.0,
    call("Conv", 0.0, 12.0, 0),
    call("Relu", 13.0, 4.0, 1),
    call("Relu", 18.0, 5.0, 2),
    call("Reshape", 24.0, 1.0, 3),
)
"""8 µs pass between its calls, and 1 more while they are timed."""

JOINED = profiled(
    "default options",
    20.0,
    call("ReorderInput", 0.0, 1.5),
    call("Conv", 2.0, 13.0, 0, 1),
    call("Relu", 16.0, 3.0, 2),
    call("Reshape", 19.0, 0.5, 3),
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    copy_empty_store(tmp_path / "clickhouse")
    return load({"BENANZA_DATA": str(tmp_path)})


def known(settings: Settings, *events: AnyEvent) -> Settings:
    with opened_log(settings) as log:
        log.append([as_message(event) for event in (FULL, SYSTEM_MEASURED, *MEASURED, *events)])
    return settings


def advice(
    settings: Settings, configuration: str, precision: Precision = "fp32"
) -> dict[str, Advice]:
    (found,) = (
        each
        for each in known_advice(settings, [MODEL.name], [precision]).models
        if each.profile.configuration == configuration
        if each.profile.model_id == MODEL.model_id
    )
    saved = [each.saved_us for each in found.advice]
    assert saved == sorted(saved, reverse=True)
    return {each.what: each for each in found.advice}


def test_each_kind_of_loss_is_a_remedy(settings: Settings) -> None:
    found = advice(known(settings, JOINED), "default options")
    assert {what: each.saved_us for what, each in found.items()} == {
        "between calls": 2.0,
        "slower call": 2.0,
        "conversions and copies": 1.5,
        "no call needed": 0.5,
    }
    assert found["slower call"].layers == ("conv",)
    assert found["slower call"].share == 2.0 / 20.0
    assert found["slower call"].spread_us == pytest.approx((0.5**2 + 0.6**2) ** 0.5)
    assert "blocks of channels" in found["conversions and copies"].do
    assert all(each.seen_us is None for each in found.values())
    assert {what: (each.times, each.op) for what, each in found.items()} == {
        "between calls": (1, ""),
        "slower call": (1, "Conv"),
        "conversions and copies": (1, "ReorderInput"),
        "no call needed": (1, "Reshape"),
    }


def test_better_options_are_predicted_and_compared_with_what_was_seen(settings: Settings) -> None:
    """The bound, and between its two calls half of what passes between four."""
    found = advice(known(settings, APART, JOINED), "no optimisations")
    better = found["default options"]
    assert better.saved_us == pytest.approx(30.0 - 14.0 - 8.0 * 2 / 4)
    assert better.seen_us == 10.0
    assert better.do == "graph_optimization_level = ORT_ENABLE_ALL"
    assert found["more calls"].layers == ("conv",)
    assert found["more calls"].do == "set default options"


def test_what_nobody_tried_has_not_been_seen(settings: Settings) -> None:
    found = advice(known(settings, APART), "no optimisations")
    assert found["default options"].seen_us is None


def test_another_precision_saves_what_the_bounds_differ_by(settings: Settings) -> None:
    halved = [
        msgspec.structs.replace(
            event,
            precision="fp16",
            event_id=event_id("half", event.event_id),
            variants=(variant("half", us),),
        )
        for event, us in zip(MEASURED, (5.0, 1.5, 5.5), strict=True)
    ]
    found = advice(known(settings, JOINED, *halved), "default options")
    assert (found["fp16"].source, found["fp16"].saved_us) == ("other precision", 7.0)
    assert found["fp16"].seen_us is None


def test_another_precision_is_compared_with_what_was_seen(settings: Settings) -> None:
    half = msgspec.structs.replace(
        MEASURED[2],
        precision="fp16",
        event_id=event_id("half", MEASURED[2].event_id),
        variants=(variant("half", 5.5),),
    )
    relu = msgspec.structs.replace(
        MEASURED[1],
        precision="fp16",
        event_id=event_id("half", MEASURED[1].event_id),
        variants=(variant("half", 1.5),),
    )
    run = msgspec.structs.replace(
        JOINED,
        event_id=event_id("half", JOINED.event_id),
        precision="fp16",
        times=RunTimes(14.0, 0.5, (14.0,)),
    )
    found = advice(known(settings, JOINED, half, relu, run), "default options")
    assert (found["fp16"].saved_us, found["fp16"].seen_us) == (7.0, 6.0)


def test_calls_of_layers_that_a_model_no_longer_has_are_not_joined() -> None:
    """Another version of ingest may give it fewer."""
    last = len(MODEL.layers) - 1
    assert _are_of(MODEL, [call("Relu", 1.0, 1.0, last)])
    assert not _are_of(MODEL, [call("Relu", 1.0, 1.0, last), call("Relu", 2.0, 1.0, last + 1)])


def test_a_larger_batch_saves_for_each_sample(settings: Settings) -> None:
    larger = msgspec.structs.replace(
        FULL,
        event_id=event_id("ModelIngested", "larger"),
        model_id=event_id("model", "larger"),
        architecture_id=event_id("model", "larger"),
        batch=2,
    )
    run = msgspec.structs.replace(
        JOINED,
        event_id=event_id("larger", JOINED.event_id),
        model_id=larger.model_id,
        batch=2,
        times=RunTimes(26.0, 0.5, (26.0,)),
    )
    found = advice(known(settings, larger, JOINED, run), "default options")
    assert found["batch 2"].seen_us == 20.0 - 26.0 / 2
    assert found["batch 2"].source == "larger batch"
    assert found["batch 2"].saved_us == 20.0 - (14.0 + 6.0) / 2, "it takes 6 µs beyond the bound"
    assert found["batch 2"].do == "run 2 samples at a time"


ON_GPU = msgspec.structs.replace(
    SYSTEM_MEASURED,
    event_id=event_id("SystemMeasured", "on a GPU"),
    system=identified(msgspec.structs.replace(SYSTEM_MEASURED.system, accelerator="another GPU")),
)


EAGER = (
    call("aten.conv2d", 0.0, 12.0, 0),
    call("aten.relu", 13.0, 3.0, 1),
    call("aten.relu", 18.0, 3.0, 2),
)


def in_pytorch(configuration: str, us: float, *calls: FrameworkCall) -> ModelProfiled:
    """A run on the GPU of `ON_GPU`, of a framework that isn't installed here."""
    system = msgspec.structs.replace(ON_GPU.system, runtime="pytorch", libraries={"pytorch": "2.0"})
    run = profiled(configuration, us, *calls)
    return msgspec.structs.replace(run, system=identified(system))


def on_gpu(precision: Precision) -> list[LayerMeasured]:
    """What was measured, on the GPU."""
    return [
        msgspec.structs.replace(
            event,
            event_id=event_id("on a GPU", precision, event.event_id),
            system=ON_GPU.system,
            precision=precision,
            variants=(variant("some", 8.0 if precision == "fp32" else 4.0),),
        )
        for event in MEASURED
    ]


def test_another_precision_saves_nothing_while_a_gpu_waits_for_the_host(
    settings: Settings,
) -> None:
    both = *on_gpu("fp32"), *on_gpu("fp16")
    waits = in_pytorch("eager", 60.0, *EAGER)
    captured = in_pytorch("CUDA graph", 30.0, *EAGER)
    known(settings, ON_GPU, *both, waits, captured)
    assert "fp16" not in advice(settings, "eager")
    assert "fp16" in advice(settings, "CUDA graph")


def test_what_a_framework_has_is_known_without_it(settings: Settings) -> None:
    """Eager, 12 of 30 µs pass between calls: a run as a CUDA graph shows what that saves. Compiled,
    nothing passes there, and the convolution stays as it is: 12 µs, and 3 for what it joins with.
    """
    runs = in_pytorch("eager", 30.0, *EAGER), in_pytorch("CUDA graph", 19.0)
    found = advice(known(settings, ON_GPU, *on_gpu("fp32"), *runs), "eager")
    assert (found["between calls"].saved_us, found["between calls"].seen_us) == (12.0, 11.0)
    assert "torch.cuda.graph" in found["between calls"].do
    assert found["more calls"].op == "aten.conv2d+aten.relu"
    assert (found["compiled"].saved_us, found["compiled"].seen_us) == (30.0 - 18.0, None)


def test_a_captured_run_has_the_calls_of_eager_mode(settings: Settings) -> None:
    """Of its 19 µs, one passes between calls. A compiler joins none of these three."""
    runs = in_pytorch("eager", 30.0, *EAGER), in_pytorch("CUDA graph", 19.0)
    known(settings, ON_GPU, *on_gpu("fp32"), *runs)
    (captured,) = (
        each
        for each in known_advice(settings, [MODEL.name], ["fp32"]).models
        if each.profile.configuration == "CUDA graph"
    )
    assert captured.profile.calls_of == "eager"
    assert [each.op for each in captured.profile.calls] == [each.op for each in EAGER]
    assert captured.profile.between_calls_us == 1.0
    found = {each.what: each for each in captured.advice}
    assert found["more calls"].saved_us == 15.0 - 8.0
    assert "torch.compile" in found["more calls"].do
    assert "compiled" not in found
    assert "between calls" in found


def test_without_a_run_it_says_how_to_get_one(settings: Settings) -> None:
    with pytest.raises(BenanzaError, match="no framework has run Net yet; say: benanza profile"):
        known_advice(known(settings), [MODEL.name], ["fp32"])


def test_a_run_that_failed_has_no_advice(settings: Settings) -> None:
    failed = msgspec.structs.replace(
        JOINED, times=None, times_looked_at=None, calls=(), failure="no kernel"
    )
    assert advice(known(settings, failed), "default options") == {}


FAST = profiled("default options", 10.0, call("Conv", 0.0, 6.0, 0, 1), call("Relu", 7.0, 3.5, 2))
"""Its bound, 14 µs, can't be right."""


def test_a_bound_above_its_run_is_a_finding(settings: Settings) -> None:
    """Half a microsecond is lost in a Relu, and before it, whatever the bound as a whole is."""
    (found,) = known_advice(known(settings, FAST), [MODEL.name], ["fp32"]).models
    assert found.profile.contradiction.startswith(
        "the bound is 40.0% above this run, so it is none"
    )
    assert "--again" in found.profile.contradiction
    assert {each.what: each.saved_us for each in found.advice} == {
        "slower call": 0.5,
        "between calls": 0.5,
    }
    (answers,) = known_answers(settings, [MODEL.name], ["fp32"], {}).models
    assert answers.contradiction == found.profile.contradiction
    assert (answers.framework_us, answers.speed_up, answers.parallel_speed_up) == (10.0, None, None)


def test_a_partial_bound_stands_beside_a_run(settings: Settings) -> None:
    """The sample model has a layer that is skipped: what takes 14 µs is not all of it."""
    with opened_log(settings) as log:
        log.append([as_message(each) for each in (MODEL, SYSTEM_MEASURED, *MEASURED, JOINED)])
    (found,) = known_advice(settings, [MODEL.name], ["fp32"]).models
    profile = found.profile
    assert (profile.bound_us, profile.partial_bound_us, profile.missing_layers) == (None, 14.0, 1)
    assert (profile.contradiction, profile.parts, found.advice) == ("", (), ())


times_us = st.floats(0.0, 100.0)


@given(st.data())
def test_savings_are_parts_of_the_run(data: st.DataObject) -> None:
    """Whatever its calls took while they were timed, and whatever the bound is."""
    own, cover = (data.draw(covers()) for _ in range(2))
    run, looked = (RunTimes(data.draw(st.floats(0.1, 300.0)), 0.0, (1.0,)) for _ in range(2))
    calls = [
        *(FrameworkCall("c", "Conv", each.positions, 0.0, each.us, 0.0) for each in own),
        FrameworkCall("r", "ReorderInput", (), 0.0, data.draw(times_us), 0.0),
    ]
    parts = inefficiencies(run, looked, calls, cover)
    bound_us = fsum(each.us + each.conversion_us for each in cover)
    profile = msgspec.structs.replace(
        PROFILE,
        framework="onnxruntime",
        batch=data.draw(st.integers(1, 4)),
        configuration=data.draw(st.sampled_from(["default options", "no optimisations"])),
        us=run.median_us,
        bound_us=bound_us,
        calls=tuple(
            ProfiledCall(
                name=each.name,
                op=each.op,
                positions=each.layers,
                multiplies=False,
                start_us=0.0,
                us=each.median_us,
                iqr_us=0.0,
                kernels=(),
            )
            for each in calls
        ),
        parts=tuple(
            ProfiledPart(
                op="", layers=("layer",) * len(each.positions), **msgspec.structs.asdict(each)
            )
            for each in parts
        ),
    )
    found = advice_about(profile, [profile], ()).advice
    assert all(each.saved_us > 0 and 0 < each.share <= 1 + 1e-9 for each in found)
    of_parts = fsum(each.share for each in found if each.source == "profile")
    assert of_parts <= 1 + 1e-9
    potential = run.median_us / bound_us if bound_us else 1.0
    assert potential >= 1 or contradiction(run.median_us, bound_us)


@pytest.mark.parametrize(
    ("more_us", "saved_us"), [(10.0, 10.0), (1_000.0, 40.0)], ids=["as the bound", "no more"]
)
def test_states_that_a_run_copies_are_to_be_in_place(more_us: float, saved_us: float) -> None:
    """The part that copies them takes 40 µs longer than in the bound."""
    copied = CopiedStates(parts=(0,), more_us=more_us)
    run = msgspec.structs.replace(PROFILE, copied_states=copied)
    (found,) = (
        each for each in advice_about(run, [run], ()).advice if each.source == "states in place"
    )
    assert (found.what, found.op, found.layers) == ("states are copied", "Conv+Relu", ("conv1",))
    assert found.saved_us == pytest.approx(saved_us / run.batch)
    assert found.share == pytest.approx(saved_us / 100.0)
    assert "one buffer" in found.do


@pytest.mark.parametrize("framework", ["onnxruntime", "pytorch", "nobody's"])
def test_nothing_is_said_of_states_where_none_are_copied(framework: str) -> None:
    """And PyTorch may keep them in place."""
    copied = None if framework == "onnxruntime" else CopiedStates(parts=(0,), more_us=10.0)
    run = msgspec.structs.replace(PROFILE, framework=framework, copied_states=copied)
    assert all(each.source != "states in place" for each in advice_about(run, [run], ()).advice)
