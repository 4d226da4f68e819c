"""Where the time of a bound goes, from what the store holds."""

import gzip
from math import fsum
from pathlib import Path

import msgspec
import pytest

from benanza.looking.bounds import known_bounds
from benanza.looking.explain import known_explanations
from benanza.request import BoundPolicy
from benanza.results.explain import Explanation
from benanza_analyzer.limits.speed_of_light import AT_OTHER_CLOCKS
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_schemas.events import Ceiling, event_id
from benanza_schemas.layer import Accounting
from tests.backbone.conftest import copy_empty_store
from tests.backbone.sample_events import CONV_MEASURED, EVERY_KIND, MODEL, SYSTEM_MEASURED, after
from tests.benanza.embedded_run import run_embedded

pytestmark = pytest.mark.integration

EXPORTED = Path(__file__).parents[2] / "data" / "exported"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Two models whose layers take times that look like chance, one in ten of them none."""
    folder = tmp_path_factory.mktemp("explain")
    bert = folder / "bert.onnx"
    bert.write_bytes(gzip.decompress((EXPORTED / "transformers-bert.onnx.gz").read_bytes()))
    return run_embedded(["zoo:squeezenet", str(bert)], folder / "data")


def explained(settings: Settings, model: str, policy: BoundPolicy) -> Explanation:
    (found,) = known_explanations(settings, [model], policy, {}).explanations
    return found


@pytest.mark.parametrize("model", ["squeezenet", "bert"])
@pytest.mark.parametrize("fusion", [False, True])
@pytest.mark.parametrize("accounting", ["paper", "full"])
def test_calls_add_up_to_the_bound(
    measured: Settings, model: str, *, fusion: bool, accounting: Accounting
) -> None:
    policy = BoundPolicy(fusion=fusion, accounting=accounting)
    found = explained(measured, model, policy)
    (bound,) = known_bounds(measured, [model], policy, {}, None).bounds
    assert found.bound == bound
    assert fsum(call.us + call.conversion_us for call in found.calls) == bound.sequential_us
    assert fsum(call.share for call in found.calls) == pytest.approx(1.0)
    assert [call.us for call in found.calls] == sorted((c.us for c in found.calls), reverse=True)
    counted = sum(len(call.positions) for call in found.calls)
    assert counted >= bound.coverage.measured
    critical = {name for call in found.calls if call.critical for name in call.layers}
    assert critical <= set(bound.critical_path)
    assert all(call.library == call.algorithm == "fake" for call in found.calls)
    assert sorted(call.order for call in found.calls) == list(range(len(found.calls)))
    assert all(call.alive_bytes for call in found.calls)


def test_a_group_has_its_rule_and_all_its_layers(measured: Settings) -> None:
    found = explained(measured, "bert", BoundPolicy())
    (groups, layers) = (
        [call for call in found.calls if bool(call.rule) is wanted] for wanted in (True, False)
    )
    assert groups
    assert layers
    for call in groups:
        assert len(call.layers) == len(call.positions) == len(call.op.split("+")) > 1
    assert all(len(call.layers) == 1 for call in layers)


def test_without_both_ceilings_there_is_no_speed_of_light(measured: Settings) -> None:
    found = explained(measured, "squeezenet", BoundPolicy())
    assert {(call.roofline_us, call.limited_by) for call in found.calls} == {(None, None)}


@pytest.fixture
def with_ceilings(tmp_path: Path) -> Settings:
    """A model of which only a convolution is measured, on a system with both ceilings."""
    from benanza_backbone import settings

    dsn = copy_empty_store(tmp_path / "clickhouse")
    ceilings = (
        Ceiling("bandwidth", "fp32", 1e11, 0.0),
        Ceiling("flops", "fp32", 1e13, 0.0),
        Ceiling("bandwidth", "fp16", 5.0, 0.0),
    )
    later = msgspec.structs.replace(
        SYSTEM_MEASURED, ceilings=ceilings, measured_at=after(9), event_id=event_id("later")
    )
    with Store.open(dsn) as store:
        store.insert([*EVERY_KIND, later])
    return settings.load({"BENANZA_KAFKA": "127.0.0.1:9", "BENANZA_CLICKHOUSE": dsn})


def test_a_call_stands_beside_its_speed_of_light(with_ceilings: Settings) -> None:
    """Over Kafka, from the store alone."""
    found = explained(with_ceilings, "Net", BoundPolicy(fusion=False))
    (conv,) = (call for call in found.calls if call.op == "Conv")
    summary = MODEL.summaries[MODEL.layers[conv.positions[0]].summary]
    assert conv.fingerprint == CONV_MEASURED.fingerprint
    assert (conv.flops, conv.bytes) == (summary.flops, summary.bytes)
    assert conv.least_flops == summary.least_flops > 0
    assert conv.roofline_us == pytest.approx(summary.bytes / 1e11 * 1e6 / AT_OTHER_CLOCKS)
    assert conv.limited_by == "cache"


def test_a_model_without_a_bound_is_an_error(measured: Settings) -> None:
    with pytest.raises(BenanzaError, match=r"nothing is known of .*missing\.onnx"):
        known_explanations(measured, ["missing.onnx"], BoundPolicy(), {})


def test_a_bound_that_is_not_known_is_left_out(measured: Settings) -> None:
    assert known_explanations(measured, ["bert"], BoundPolicy(("fp16",)), {}).explanations == ()
