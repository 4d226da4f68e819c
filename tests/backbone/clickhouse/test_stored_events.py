"""Events that come back from the store as they went in."""

import msgspec
import pytest

from benanza_backbone.clickhouse.store import Store
from benanza_backbone.clickhouse.stored_events import (
    profiled_models,
    stored_bound_id,
    stored_measurements,
    stored_model,
    stored_profiles,
    stored_system,
)
from benanza_schemas.events import LayerMeasured, event_id, identified
from tests.backbone.sample_events import (
    CONV_MEASURED,
    EVERY_KIND,
    GROUP_MEASURED,
    MODEL,
    MODEL_ID,
    PROFILED,
    RELU_MEASURED,
    SYSTEM,
    SYSTEM_MEASURED,
    after,
)


def test_a_model_comes_back(store: Store) -> None:
    store.insert(EVERY_KIND)
    assert stored_model(store, MODEL_ID) == MODEL


def test_a_model_of_several_names_has_the_first(store: Store) -> None:
    other = msgspec.structs.replace(MODEL, name="A copy", event_id=event_id("a copy"))
    store.insert([MODEL])
    store.insert([other])
    assert stored_model(store, MODEL_ID) == other


def test_a_system_comes_back_with_its_newest_ceilings(store: Store) -> None:
    later = msgspec.structs.replace(
        SYSTEM_MEASURED, measured_at=after(60), cache_bytes=7, event_id=event_id("later")
    )
    store.insert([later, SYSTEM_MEASURED])
    assert stored_system(store, SYSTEM.system_id) == later


def test_measurements_come_back_in_order(store: Store) -> None:
    again = msgspec.structs.replace(CONV_MEASURED, measured_at=after(3600))
    store.insert([MODEL, again, RELU_MEASURED, CONV_MEASURED, GROUP_MEASURED])
    found = stored_measurements(store, MODEL_ID, SYSTEM, CONV_MEASURED.precision)
    wanted = sorted(
        (again, RELU_MEASURED, CONV_MEASURED, GROUP_MEASURED),
        key=lambda event: (event.measured_at, event.event_id),
    )
    assert found == [without_samples(event) for event in wanted]


def without_samples(event: LayerMeasured) -> LayerMeasured:
    """What is read of it: of the samples of each variant, the median alone."""
    replace = msgspec.structs.replace
    variants = (
        replace(each, samples_us=() if each.median_us is None else (each.median_us,))
        for each in event.variants
    )
    return replace(event, variants=tuple(variants))


def test_a_layer_that_nothing_could_be_tried_on_has_its_reason(store: Store) -> None:
    failed = LayerMeasured(
        event_id=event_id("failed"),
        fingerprint=CONV_MEASURED.fingerprint,
        system=SYSTEM,
        precision="fp16",
        measured_at=after(1),
        variants=(),
        failure="no such type",
    )
    store.insert([MODEL, failed])
    assert stored_measurements(store, MODEL_ID, SYSTEM, "fp16") == [failed]


def test_measurements_of_other_layers_systems_and_precisions_are_left_out(store: Store) -> None:
    elsewhere = identified(msgspec.structs.replace(SYSTEM, cpu="Another CPU"))
    others = [
        msgspec.structs.replace(CONV_MEASURED, system=elsewhere),
        msgspec.structs.replace(CONV_MEASURED, precision="bf16"),
        msgspec.structs.replace(CONV_MEASURED, fingerprint=event_id("another layer")),
    ]
    store.insert([MODEL, *others])
    assert stored_measurements(store, MODEL_ID, SYSTEM, CONV_MEASURED.precision) == []


def test_the_newest_profile_of_each_kind_comes_back(store: Store) -> None:
    older = msgspec.structs.replace(
        PROFILED, event_id=event_id("older"), profiled_at=after(1), calls=()
    )
    failed = msgspec.structs.replace(
        older,
        event_id=event_id("failed"),
        configuration="no optimisations",
        times=None,
        times_looked_at=None,
        failure="why",
    )
    store.insert([older, PROFILED, failed])
    assert stored_profiles(store, MODEL_ID) == [PROFILED, failed]
    assert stored_profiles(store, event_id("another model")) == []
    assert profiled_models(store, [MODEL_ID]) == [], "the store has no such model"
    store.insert([MODEL])
    assert profiled_models(store, [event_id("another model"), MODEL_ID, MODEL_ID]) == [MODEL_ID]


def test_what_is_not_there_is_an_error(store: Store) -> None:
    with pytest.raises(LookupError, match=f"there is no model {MODEL_ID}"):
        stored_model(store, MODEL_ID)
    with pytest.raises(LookupError, match="has no bound at fp16"):
        stored_bound_id(store, MODEL_ID, SYSTEM.system_id, "fp16")
    with pytest.raises(LookupError, match="there is no system"):
        stored_system(store, SYSTEM.system_id)
