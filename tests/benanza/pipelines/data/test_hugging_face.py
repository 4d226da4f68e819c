"""Data sets that the package `datasets` loads, from a folder that it saved: nothing is fetched."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benanza.pipelines.data.data_set import DataSet
from benanza.pipelines.data.hugging_face import HuggingFaceDataSet
from benanza.pipelines.specification import PipelineData
from benanza_backbone.errors import BenanzaError
from tests.benanza.pipelines.data.data_set_contract import DataSetContract
from tests.benanza.pipelines.data.test_folder import JPEGS

pytestmark = pytest.mark.skipif(find_spec("datasets") is None, reason="needs the extra datasets")

SHA256 = "0" * 64


@pytest.fixture(scope="module")
def datasets() -> Any:
    """The package, which takes seconds to import: not where tests are collected."""
    return import_module("datasets")


@pytest.fixture(scope="module")
def folder(datasets: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A split `test` with images in the file, one as a path, and one that is missing."""
    made = tmp_path_factory.mktemp("datasets")
    (made / "1.jpg").write_bytes(JPEGS[1])
    images = [
        {"bytes": JPEGS[0], "path": None},
        {"bytes": None, "path": str(made / "1.jpg")},
        None,
        *({"bytes": content, "path": None} for content in JPEGS[2:]),
    ]
    features = datasets.Features(
        {
            "picture": datasets.Image(),
            "label": datasets.ClassLabel(names=["a", "b"]),
            "note": datasets.Value("string"),
        }
    )
    columns = {"picture": images, "label": [0, 0, 0, 1, 1], "note": list("nnnnn")}
    rows = datasets.Dataset.from_dict(columns, features=features)
    datasets.DatasetDict({"test": rows}).save_to_disk(made / "saved")
    return made


DATA = PipelineData(
    kind="datasets", source="saved", sha256=SHA256, samples=5, split="test", image="picture"
)


def _opened(folder: Path, **changes: str) -> HuggingFaceDataSet:
    return HuggingFaceDataSet(msgspec.structs.replace(DATA, **changes), folder)


class TestHuggingFaceDataSet(DataSetContract):
    @pytest.fixture
    def data(self, folder: Path) -> DataSet:
        return _opened(folder)

    @pytest.fixture
    def again(self, folder: Path) -> DataSet:
        return _opened(folder)


def test_files_are_taken_as_they_are(folder: Path) -> None:
    data = _opened(folder)
    read = [data.content(data.samples[number]) for number in (0, 1, 3, 4)]
    assert read == JPEGS


def test_the_only_columns_of_images_and_classes_need_no_name(folder: Path) -> None:
    data = _opened(folder, image="")
    assert data.content(data.samples[0]) == JPEGS[0]


def test_of_several_columns_one_has_to_be_named(datasets: Any, tmp_path: Path) -> None:
    images = [{"bytes": JPEGS[0], "path": None}]
    features = {
        **dict.fromkeys(("left", "right"), datasets.Image()),
        "kind": datasets.ClassLabel(names=["a"]),
    }
    columns = {"left": images, "right": images, "kind": [0]}
    rows = datasets.Dataset.from_dict(columns, features=datasets.Features(features))
    rows.save_to_disk(tmp_path / "saved")
    with pytest.raises(BenanzaError, match=r"has 2 columns of the feature Image; .* left, right"):
        _opened(tmp_path, image="", label="")
    assert _opened(tmp_path, image="left", label="").classes == ("a",)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"split": "train"}, "saved has the splits test; name one"),
        ({"image": "image"}, r"no column 'image' of the feature Image; set image in \[data\] to"),
        ({"label": "note"}, "no column 'note' of the feature ClassLabel"),
    ],
)
def test_what_it_lacks_is_said(folder: Path, changes: dict[str, str], said: str) -> None:
    with pytest.raises(BenanzaError, match=said):
        _opened(folder, **changes)


def test_a_name_that_can_t_be_loaded_is_said(
    datasets: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise FileNotFoundError("Couldn't find it on the Hub.\nHere is why.")

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(BenanzaError, match=r"can't load some/name: Couldn't find it on the Hub.;"):
        _opened(folder, source="some/name")
