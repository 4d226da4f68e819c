"""What bounds without fusion need comes back from the store, of many models at once."""

from typing import Any

from msgspec.structs import replace

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_unfused import fastest_variants, stored_without_groups
from benanza_schemas.events import CheckpointIngested, LayerUse, Variant, event_id
from benanza_schemas.vocabulary import GENERATED, CacheState, StoppedBy
from tests.backbone.sample_events import (
    CONV_MEASURED,
    GROUP_MEASURED,
    MODEL,
    MODEL_ID,
    RELU_MEASURED,
    SYSTEM,
    after,
)

PRECISION = CONV_MEASURED.precision


def variant(us: float, algorithm: str, library: str = "cudnn", **more: Any) -> Variant:
    return Variant(
        library=library,
        algorithm=algorithm,
        samples_us=(us,),
        minimum_us=us,
        median_us=us,
        iqr_us=0.5,
        **more,
    )


def test_models_come_back_without_groups_and_names(store: Store) -> None:
    other = CheckpointIngested(
        event_id=event_id("other"),
        model_id=event_id("other model"),
        architecture_id=MODEL_ID,
        name="Other",
        zoo="",
        sha256="0" * 64,
        opset=MODEL.opset,
        batch=MODEL.batch,
        dims={},
        layer_names=("", "", "", ""),
    )
    store.insert([MODEL, MODEL, other])
    asked = [MODEL_ID, other.model_id, event_id("unknown")]
    found = {each.model_id: each for each in stored_without_groups(store, asked)}
    assert found.keys() == {MODEL_ID, other.model_id}
    for model_id, model in found.items():
        assert model.architecture_id == model_id
        uses = [model.summaries[use.summary] for use in model.layers]
        assert uses == [MODEL.summaries[use.summary] for use in MODEL.layers]
        assert model.edges == MODEL.edges
        assert (model.groups, model.layers[0]) == ((), LayerUse(model.layers[0].summary, ""))


def test_of_variants_alike_the_fastest_warm_one_comes_back(store: Store) -> None:
    fastest = (
        variant(2.0, "b", layout="NCHW"),
        variant(3.0, "c", layout="NHWC", layout_change_us=1.0),
        variant(4.0, "d", layout="NHWC", layout_change_us=2.0),
        variant(5.0, "e", layout="NCHW", chosen_by_heuristic=True),
        variant(6.0, "f", layout="NCHW", library=GENERATED),
    )
    slower = (
        variant(2.5, "x", layout="NCHW"),
        variant(1.0, "b", layout="NCHW", cache=CacheState.INTERLEAVED),
        variant(1.0, "x", layout="NCHW", stopped_by=StoppedBy.PRUNED),
        Variant(library="cudnn", algorithm="x", layout="NCHW", failure="no such thing"),
    )
    event = replace(CONV_MEASURED, variants=(*slower, *fastest), environment={})
    again = replace(event, event_id=event_id("again"), measured_at=after(3600))
    others = replace(event, precision="bf16"), GROUP_MEASURED
    failed = replace(RELU_MEASURED, variants=(), failure="no such type")
    store.insert([MODEL, event, event, again, *others, failed])
    found = fastest_variants(store, [MODEL_ID], SYSTEM, PRECISION)
    assert found == [
        replace(event, variants=fastest),
        replace(again, variants=fastest),
    ]
    assert fastest_variants(store, [event_id("unknown")], SYSTEM, PRECISION) == []
