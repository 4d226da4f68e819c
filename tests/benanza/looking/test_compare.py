"""Bounds beside others of the same models."""

from pathlib import Path

import msgspec
import pytest

from benanza.importing.import_recordings import import_recordings
from benanza.importing.recording import read_recording
from benanza.looking.bounds import known_bounds
from benanza.looking.compare import known_comparison
from benanza.request import BoundPolicy, Other
from benanza.results.bounds import ComparedBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings, load
from benanza_ingest.extract import extract
from benanza_ingest.reading.zoo import zoo_path
from benanza_schemas.events import LayerMeasured, System, SystemMeasured, event_id, identified
from tests.backbone.sample_events import BOUNDS, EVERY_KIND, OTHER_SYSTEM, after
from tests.benanza.recorded import RECORDING, recorded_models, write_quickly

pytestmark = pytest.mark.integration

FP16 = BoundPolicy(("fp16",))


def newer(system: System) -> System:
    """The same machine with another driver."""
    return identified(msgspec.structs.replace(system, driver="999.99"))


SQUEEZENET = extract(zoo_path("squeezenet").read_bytes())
FIRST = {SQUEEZENET.layers[0].fingerprint} | {
    group.fingerprint for group in SQUEEZENET.groups if 0 in group.layers
}
"""The first layer, and the groups that may run it."""


def slower(event: LayerMeasured) -> LayerMeasured:
    """What was measured with the newer driver: twice as long, if it runs the first layer."""
    times = 2.0 if event.fingerprint in FIRST else 1.0
    variants = tuple(
        msgspec.structs.replace(each, median_us=each.median_us * times)
        if each.median_us is not None
        else each
        for each in event.variants
    )
    identity = event_id("LayerMeasured", event.event_id, "newer")
    return msgspec.structs.replace(
        event, event_id=identity, system=newer(event.system), variants=variants
    )


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Where squeezenet has bounds by the recording, and with another driver in fp16."""
    folder = tmp_path_factory.mktemp("compare")
    wanted = {each.fingerprint for each in SQUEEZENET.layers}
    wanted |= {each.fingerprint for each in SQUEEZENET.groups}
    events: list[SystemMeasured | LayerMeasured] = []
    for _, event in read_recording(RECORDING):
        if isinstance(event, SystemMeasured):
            events.append(
                msgspec.structs.replace(event, event_id="9" * 32, system=newer(event.system))
            )
        elif (
            isinstance(event, LayerMeasured)
            and event.fingerprint in wanted
            and event.precision == "fp16"
        ):
            events.append(slower(event))
    write_quickly(folder / "newer.xz", events)
    settings = recorded_models(folder / "data")
    import_recordings([folder / "newer.xz"], settings)
    return settings


def compared(settings: Settings, other: Other) -> list[ComparedBound]:
    return list(known_comparison(settings, ["squeezenet"], FP16, {}, None, other).bounds)


def test_another_precision_and_the_layers_that_make_the_difference(recorded: Settings) -> None:
    whole, partial = sorted(
        compared(recorded, Other(precision="fp32")), key=lambda each: each.other.partial
    )
    assert (partial.ratio, partial.layers) == (None, ()), "nothing is measured there in fp32"
    assert (whole.bound.precision, whole.other.precision) == ("fp16", "fp32")
    us, other_us = whole.bound.sequential_us, whole.other.sequential_us
    assert us is not None
    assert other_us is not None
    assert whole.ratio == other_us / us
    assert sum(each.us - each.bound_us for each in whole.layers) == pytest.approx(other_us - us)
    sizes = [abs(each.us - each.bound_us) for each in whole.layers]
    assert sizes == sorted(sizes, reverse=True)


def test_another_driver_and_the_layer_that_it_slowed_down(recorded: Settings) -> None:
    bounds = known_bounds(recorded, ["squeezenet"], FP16, {}, None).bounds
    assert len(bounds) == 2
    old, new = sorted(bounds, key=lambda each: each.sequential_us or 0.0)
    (found,) = compared(recorded, Other(system=new.system_id[:6]))
    of_old = FP16._replace(system=old.system_id)
    other = Other(system=new.system_id[:6])
    again = known_comparison(recorded, ["squeezenet"], of_old, {}, None, other)
    assert list(again.bounds) == [found]
    assert (found.bound.system_id, found.other.system_id) == (old.system_id, new.system_id)
    assert found.ratio is not None
    assert found.ratio > 1
    (only,) = found.layers
    assert SQUEEZENET.layers[0].name in only.layers
    assert only.us == pytest.approx(2 * only.bound_us)


def test_a_system_that_is_not_there_is_an_error_with_those_that_are(recorded: Settings) -> None:
    with pytest.raises(BenanzaError, match="no bounds are known of another system nowhere; known"):
        compared(recorded, Other(system="nowhere"))


def test_another_precision_that_was_not_measured_is_an_error(recorded: Settings) -> None:
    policy = BoundPolicy(("fp16",), accounting="paper")
    found = known_comparison(recorded, [], policy, {}, None, Other(precision="bf16"))
    assert {each.other.precision for each in found.bounds} == {"bf16"}
    with pytest.raises(BenanzaError, match="as of 2001"):
        compared(recorded, Other(at=after(-8e8)))
    with pytest.raises(BenanzaError, match="fp16 is the precision that was asked for"):
        compared(recorded, Other(precision="fp16"))
    with pytest.raises(BenanzaError, match=r"no bounds were known at 20\d\d-.*; leave out --at"):
        known_comparison(recorded, ["squeezenet"], FP16, {}, after(-8e8), Other(precision="fp32"))


def test_another_time_and_what_moved_the_bound_since(tmp_path: Path) -> None:
    settings = load({"BENANZA_DATA": str(tmp_path), "BENANZA_CLICKHOUSE": f"chdb://{tmp_path}/s"})
    with Store.open(settings.clickhouse) as store:
        store.insert(list(EVERY_KIND))
    policy = BoundPolicy(fusion=False)
    (found,) = known_comparison(settings, ["Net"], policy, {}, None, Other(at=after(1.6))).bounds
    assert (found.bound.sequential_us, found.other.sequential_us) == (15.25, 10.25)
    assert found.ratio is None, "both lack layers"
    (only,) = found.moved_by
    assert (only.sequential_before_us, only.sequential_us) == (10.25, 15.25)
    assert found.layers == ()


def test_a_system_that_nothing_describes_is_an_error_that_says_so(tmp_path: Path) -> None:
    settings = load({"BENANZA_DATA": str(tmp_path), "BENANZA_CLICKHOUSE": f"chdb://{tmp_path}/s"})
    whole = msgspec.structs.replace(BOUNDS[-1], missing=())
    elsewhere = msgspec.structs.replace(
        whole, event_id=event_id("elsewhere"), system_id=OTHER_SYSTEM.system_id
    )
    with Store.open(settings.clickhouse) as store:
        store.insert([each for each in EVERY_KIND if not isinstance(each, SystemMeasured)])
        store.insert([whole, elsewhere])
    other = Other(system=OTHER_SYSTEM.system_id)
    with pytest.raises(BenanzaError, match="nothing says what it is: its SystemMeasured is miss"):
        known_comparison(settings, [], BoundPolicy(fusion=False), {}, None, other)
