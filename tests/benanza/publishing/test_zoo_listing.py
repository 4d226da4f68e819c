"""The listing of a zoo: its models in order, and what is wrong with any of them."""

import json
from pathlib import Path

import pytest

from benanza.publishing.zoo_listing import ListedModel, is_listing, read_listing
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits

LIMITS = Limits()
ALEXNET = {"name": "alexnet", "uri": "https://zoo.example/alexnet.onnx", "sha256": "a" * 64}
VGG = {"name": "vgg19", "uri": "file:///models/vgg19.onnx", "sha256": "b" * 64}


def listed(path: Path) -> list[ListedModel | ModelError]:
    return [entry.model for entry in read_listing(str(path), LIMITS)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("zoo.json", json.dumps([ALEXNET, VGG], indent=2)),
        ("zoo.jsonl", f"{json.dumps(ALEXNET)}\n\n{json.dumps(VGG)}\n"),
    ],
)
def test_a_list_and_lines_say_the_same(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert listed(path) == [ListedModel(**ALEXNET), ListedModel(**VGG)]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("zoo.json", True),
        ("folder/zoo.jsonl", True),
        ("https://zoo.example/listing.json?page=1", True),
        ("https://zoo.example/model.onnx?format=.json", False),
        ("model.onnx", False),
        ("zoo:alexnet", False),
        ("json", False),
    ],
)
def test_its_ending_tells_a_listing_from_a_model(address: str, expected: bool) -> None:
    assert is_listing(address) is expected


@pytest.mark.parametrize(
    ("entry", "complaint"),
    [
        ({**ALEXNET, "sha256": "abc"}, r"sha256"),
        ({**ALEXNET, "uri": "alexnet.onnx"}, r"uri"),
        ({**ALEXNET, "uri": "ftp://zoo.example/alexnet.onnx"}, r"uri"),
        ({**ALEXNET, "name": ""}, r"name"),
        ({**ALEXNET, "colour": "red"}, r"unknown field `colour`"),
        ({"name": "alexnet", "uri": "https://zoo.example/a"}, r"missing required field `sha256`"),
        (["alexnet"], "Expected `object`"),
    ],
)
def test_a_wrong_entry_is_named_by_its_line_and_hides_no_other(
    tmp_path: Path, entry: object, complaint: str
) -> None:
    path = tmp_path / "zoo.jsonl"
    path.write_text("\n".join(map(json.dumps, [ALEXNET, entry, VGG])))
    first, wrong, last = read_listing(str(path), LIMITS)
    assert (first.model, last.model) == (ListedModel(**ALEXNET), ListedModel(**VGG))
    assert wrong.where == f"{path}, line 2"
    with pytest.raises(ModelError, match=rf"line 2: .*{complaint}.*a model is") as error:
        raise wrong.model if isinstance(wrong.model, ModelError) else AssertionError
    assert "\n" not in str(error.value)


def test_bytes_that_are_no_text_are_a_wrong_entry(tmp_path: Path) -> None:
    path = tmp_path / "zoo.jsonl"
    path.write_bytes(b'{"name": "\xff\xfe", "uri": "https://a", "sha256": "%s"}' % (b"a" * 64))
    assert isinstance(listed(path)[0], ModelError)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [("", "lists no model"), ("[]", "lists no model"), ("[{]", "is no list in JSON")],
)
def test_what_is_no_listing_says_so(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "zoo.json"
    path.write_text(content)
    with pytest.raises(ModelError, match=complaint):
        listed(path)
