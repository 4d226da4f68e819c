"""Advice about runs of a framework, from profiles and bounds that were made up."""

from pathlib import Path

import msgspec
import pytest

from benanza.installation.embedded import opened_log
from benanza.looking.advise import known_advice
from benanza.results.advice import Advice
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings, load
from benanza_schemas.events import (
    AnyEvent,
    FrameworkCall,
    ModelProfiled,
    RunTimes,
    event_id,
)
from benanza_schemas.layer import Precision
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


def test_a_larger_batch_saves_for_each_sample(settings: Settings) -> None:
    larger = msgspec.structs.replace(
        FULL,
        event_id=event_id("ModelIngested", "larger"),
        model_id=event_id("model", "larger"),
        batch=2,
    )
    found = advice(known(settings, larger, JOINED), "default options")
    assert (found["batch 2"].source, found["batch 2"].saved_us) == ("larger batch", 7.0)
    assert found["batch 2"].do == "run 2 samples at a time"


def test_without_a_run_it_says_how_to_get_one(settings: Settings) -> None:
    with pytest.raises(BenanzaError, match="no framework has run Net yet; say: benanza profile"):
        known_advice(known(settings), [MODEL.name], ["fp32"])


def test_a_run_that_failed_has_no_advice(settings: Settings) -> None:
    failed = msgspec.structs.replace(
        JOINED, times=None, times_looked_at=None, calls=(), failure="no kernel"
    )
    assert advice(known(settings, failed), "default options") == {}
