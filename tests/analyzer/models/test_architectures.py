"""Architectures, and which of them contain a layer."""

import msgspec
import pytest

from benanza_analyzer.models.architectures import Architectures
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.models.model_check import InvalidModelError
from benanza_schemas.events import ModelIngested
from tests.analyzer.events import fingerprint, model, summary, with_its_id

FIRST, COPY = (model([summary("Conv", "a"), summary("Relu", "b")], name=name) for name in "xy")
OTHER = model([summary("Conv", "a")], name="z")


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue()


@pytest.fixture
def architectures(catalogue: Catalogue) -> Architectures:
    found = Architectures(catalogue)
    for event in (FIRST, COPY, OTHER):
        found.add(event)
    return found


def test_models_that_differ_in_names_share_an_architecture(architectures: Architectures) -> None:
    assert COPY.architecture_id == FIRST.architecture_id != OTHER.architecture_id
    assert architectures.add(COPY) is architectures.of(FIRST.architecture_id)
    assert [each.id for each in architectures.all()] == [
        FIRST.architecture_id,
        OTHER.architecture_id,
    ]
    assert architectures.get("nothing") is None


@pytest.mark.parametrize(
    "changed",
    [
        with_its_id(msgspec.structs.replace(FIRST, batch=2)),
        with_its_id(msgspec.structs.replace(FIRST, edges=())),
        model([summary("Conv", "a"), summary("Relu", "c")]),
        model([summary("Conv", "a", flops=1), summary("Relu", "b")]),
    ],
    ids=["batch", "wiring", "a layer", "work"],
)
def test_what_differs_in_more_is_another(
    architectures: Architectures, changed: ModelIngested
) -> None:
    assert architectures.add(changed) is not architectures.of(FIRST.architecture_id)


def test_a_layer_is_in_architectures(architectures: Architectures, catalogue: Catalogue) -> None:
    found = architectures.with_layer(catalogue.number(fingerprint("a")))
    assert [each.id for each in found] == [FIRST.architecture_id, OTHER.architecture_id]
    assert not architectures.with_layer(catalogue.number(fingerprint("never seen")))


def test_an_architecture_of_a_model_s_own_is_replaced(
    architectures: Architectures, catalogue: Catalogue
) -> None:
    own = msgspec.structs.replace(FIRST, architecture_id=FIRST.model_id)
    before = architectures.add(own)
    b = catalogue.number(fingerprint("b"))
    assert before in architectures.with_layer(b)
    after = architectures.add(
        msgspec.structs.replace(OTHER, model_id=own.model_id, architecture_id=own.model_id)
    )
    assert architectures.of(own.model_id) is after
    assert before not in architectures.with_layer(b)
    assert before not in architectures.all()


@pytest.mark.parametrize(
    "wrong",
    [
        with_its_id(msgspec.structs.replace(FIRST, edges=((1, 0),))),
        msgspec.structs.replace(FIRST, architecture_id=fingerprint("another's")),
    ],
    ids=["edges", "id"],
)
def test_what_does_not_fit_together_changes_nothing(
    architectures: Architectures, wrong: ModelIngested
) -> None:
    before = list(architectures.all())
    with pytest.raises(InvalidModelError):
        architectures.add(wrong)
    assert list(architectures.all()) == before


def test_what_is_kept_counts_of_a_model_that_an_older_version_knew(catalogue: Catalogue) -> None:
    """Before version 22 only weights were read, and both say the same of the architecture."""
    newer = model([summary("Conv", "a", least_flops=9, least_weights=8)])
    weights = model([summary("Conv", "a", least_flops=9, least_weights=2)])
    older = msgspec.structs.replace(weights, schema_version=21)
    assert older.architecture_id == newer.architecture_id
    for order in ((older, newer, older), (newer, older)):
        known = Architectures(catalogue)
        for event in order:
            known.add(event)
        assert known.of(newer.architecture_id).least_known == newer.least_known() == 3
