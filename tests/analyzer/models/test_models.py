"""Models by architecture."""

import msgspec
import pytest

from benanza_analyzer.models.architecture import Architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.models.model_check import InvalidModelError
from benanza_analyzer.models.models import Models
from tests.analyzer.events import fingerprint, model, summary

FIRST, COPY = (model([summary("Conv", "a"), summary("Relu", "b")], name=name) for name in "xy")
OTHER = model([summary("Conv", "a")], name="z")


@pytest.fixture
def catalogue() -> Catalogue:
    return Catalogue()


@pytest.fixture
def models(catalogue: Catalogue) -> Models:
    found = Models(catalogue)
    for event in (FIRST, COPY, OTHER):
        found.add(event)
    return found


def ids(models: Models, architecture: Architecture) -> list[str]:
    return list(dict(models.all())[architecture])


def test_models_that_differ_in_names_share_an_architecture(models: Models) -> None:
    shared = models.architecture(FIRST.model_id)
    assert models.get(COPY.model_id) is shared
    assert models.get(OTHER.model_id) is not shared
    assert ids(models, shared) == [FIRST.model_id, COPY.model_id]
    assert models.first_of(shared) == FIRST.model_id
    assert models.get("nothing") is None


@pytest.mark.parametrize(
    "changed",
    [
        msgspec.structs.replace(FIRST, batch=2, model_id=OTHER.model_id),
        msgspec.structs.replace(FIRST, edges=(), model_id=OTHER.model_id),
        model([summary("Conv", "a"), summary("Relu", "c")], name="z"),
        model([summary("Conv", "a", flops=1), summary("Relu", "b")], name="z"),
    ],
    ids=["batch", "wiring", "a layer", "work"],
)
def test_what_differs_in_more_is_another(models: Models, changed: object) -> None:
    assert models.add(changed) is not models.architecture(FIRST.model_id)  # type: ignore[arg-type]


def test_a_layer_is_in_architectures(models: Models, catalogue: Catalogue) -> None:
    found = [list(each) for _, each in models.with_layer(catalogue.number(fingerprint("a")))]
    assert found == [[FIRST.model_id, COPY.model_id], [OTHER.model_id]]
    assert models.with_layer(catalogue.number(fingerprint("never seen"))) == []


def test_an_architecture_goes_with_its_last_model(models: Models, catalogue: Catalogue) -> None:
    b = catalogue.number(fingerprint("b"))
    before = models.architecture(FIRST.model_id)
    for event in (FIRST, COPY):
        assert models.with_layer(b)
        models.add(msgspec.structs.replace(OTHER, model_id=event.model_id))
    assert models.with_layer(b) == []
    assert before not in dict(models.all())
    assert ids(models, models.architecture(OTHER.model_id)) == [
        each.model_id for each in (OTHER, FIRST, COPY)
    ]


def test_what_does_not_fit_together_changes_nothing(models: Models) -> None:
    before = models.architecture(FIRST.model_id)
    with pytest.raises(InvalidModelError):
        models.add(msgspec.structs.replace(FIRST, edges=((1, 0),)))
    assert models.architecture(FIRST.model_id) is before
