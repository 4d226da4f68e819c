"""The models that need no download."""

import hashlib

import pytest

from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX, exported_models, zoo_names, zoo_path
from tests.extracted_zoo import extracted_zoo

NINE = [
    "alexnet",
    "densenet121",
    "inception_v1",
    "inception_v2",
    "resnet50",
    "shufflenet",
    "squeezenet",
    "vgg19",
    "zfnet512",
]

FEWEST = 90


def test_nine_models_come_with_onnx() -> None:
    assert zoo_names() == NINE


@pytest.mark.parametrize("name", NINE)
def test_each_is_a_small_file_without_weights(name: str) -> None:
    assert zoo_path(name).suffix == ".onnx"
    assert 1000 < zoo_path(name).stat().st_size < 1_000_000


@pytest.mark.parametrize("name", ["../alexnet", "light_alexnet", "alxnet"])
def test_a_misspelt_name_is_refused_with_its_likes(name: str) -> None:
    with pytest.raises(ModelError, match=r"in the zoo; did you mean (zoo:\S+ or )*zoo:alexnet\b"):
        zoo_path(name)


@pytest.mark.parametrize("name", ["", "quux", "ALEXNET"])
def test_another_name_is_refused_with_what_lists_those_that_there_are(name: str) -> None:
    with pytest.raises(ModelError) as refused:
        zoo_path(name)
    assert str(refused.value).startswith(
        f"no model {name!r} in the zoo; it has {', '.join(NINE)}, and "
    )
    assert "`benanza zoo --all`" in str(refused.value)


def test_the_others_are_many_and_small() -> None:
    names = list(exported_models())
    assert names == sorted(names)
    assert len(names) + len(NINE) >= FEWEST
    assert max(zoo_path(name).stat().st_size for name in names) < 100_000
    assert {name.partition(":")[0] for name in names} == {
        "diffusers",
        "timm",
        "torchvision",
        "transformers",
    }


@pytest.mark.parametrize("name", exported_models())
def test_each_of_them_is_the_file_that_is_known(name: str) -> None:
    known = exported_models()[name]
    found = fetch(PREFIX + name, Limits(), known.sha256)
    assert (found.name, found.uri) == (name, PREFIX + name)
    assert hashlib.sha256(found.content).hexdigest() == known.sha256


@pytest.mark.slow
def test_each_is_ingested_with_all_its_layers() -> None:
    models = {each.composition.model: each for each in extracted_zoo()}
    assert models.keys() == {*NINE, *exported_models()}
    for name in exported_models():
        assert models[name].skipped == (), name
        assert len(models[name].composition.layers) > 10, name
