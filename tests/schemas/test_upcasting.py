"""Events of older versions get the fields that today's require."""

import msgpack

from benanza_schemas.upcasting import upcast


def test_a_model_s_own_architecture_has_the_id_of_the_model() -> None:
    ingested = {"type": "ModelIngested", "schema_version": 9, "model_id": "m"}
    upcast(ingested)
    assert ingested["architecture_id"] == ingested["model_id"] == "m"
    bound = {"type": "BoundUpdated", "schema_version": 9, "model_id": "m"}
    upcast(bound)
    assert (bound["architecture_id"], "model_id" in bound) == ("m", False)


def test_what_is_of_today_or_no_such_event_stays_as_it_is() -> None:
    for fields in (
        {"type": "BoundUpdated", "schema_version": 10, "model_id": "m"},
        {"type": "BoundUpdated", "model_id": "m"},
        {"type": "BoundUpdated", "schema_version": 9},
        {"type": "ModelProfiled", "schema_version": 9, "model_id": "m"},
        {"type": "BoundUpdated", "schema_version": "9", "model_id": "m"},
        {},
    ):
        before = msgpack.packb(fields)
        upcast(fields)
        assert msgpack.packb(fields) == before
