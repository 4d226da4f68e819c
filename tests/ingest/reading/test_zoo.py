"""The nine models that come with onnx."""

import pytest

from benanza_ingest.errors import ModelError
from benanza_ingest.reading.zoo import zoo_names, zoo_path

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


def test_the_zoo_has_nine_models() -> None:
    assert zoo_names() == NINE


@pytest.mark.parametrize("name", NINE)
def test_each_is_a_small_file_without_weights(name: str) -> None:
    assert zoo_path(name).suffix == ".onnx"
    assert 1000 < zoo_path(name).stat().st_size < 1_000_000


@pytest.mark.parametrize("name", ["", "resnet", "../alexnet", "light_alexnet", "ALEXNET"])
def test_another_name_is_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(ModelError) as refused:
        zoo_path(name)
    assert str(refused.value) == f"no model {name!r} in the zoo; it has {', '.join(NINE)}"
