"""`benanza publish` and `benanza.publish`, into both logs."""

import hashlib
import json
import lzma
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

import benanza
from benanza.cli import cli
from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.errors import BenanzaError
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of
from benanza_ingest.reading.parse import STRIPPED_FROM_BYTES, parse
from benanza_ingest.reading.zoo import zoo_path
from benanza_schemas.codec import decode
from benanza_schemas.events import MAX_INLINE_MODEL_BYTES, ModelPublished
from benanza_schemas.topics import MODELS
from tests.benanza.commands.conftest import Kind, opened_log
from tests.benanza.publishing.test_asked_models import product
from tests.ingest.reading.model_server import MODEL, model_server


def published() -> list[ModelPublished]:
    """What is in the topic, decoded strictly as the services do."""
    with opened_log() as log:
        events = [decode(record.value) for record in log.records(MODELS)]
    return [event for event in events if isinstance(event, ModelPublished)]


def test_a_file_travels_in_the_event_and_the_same_again_has_the_same_id(
    installation: Kind, tmp_path: Path
) -> None:
    path = product(tmp_path / "product.onnx", 16)
    command = ["publish", str(path), "--batch", "1,8", "--dim", "length=5", "--zoo", "ours"]
    for _ in range(2):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0, result.output
        assert result.stderr == ""
        _, line = result.stdout.splitlines()
        assert line.split()[:3] == ["product", "ours", "1,8"]
    first, second = published()
    assert first == second
    assert first.content
    assert lzma.decompress(first.content) == path.read_bytes()
    assert first.content_encoding == "xz"
    assert first.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert (first.name, first.zoo) == ("product", "ours")
    assert (first.batch_sizes, first.dims) == ((1, 8), {"length": 5})
    CliRunner().invoke(cli, ["publish", str(path), "--batch", "1", "--dim", "length=5"])
    assert len({event.event_id for event in published()}) == 2


def test_a_damaged_file_among_many_hides_no_other(installation: Kind, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    for name in ("a/model", "b/model", "c"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        product(folder / f"{name}.onnx", 16)
    (folder / "b/damaged.onnx").write_bytes(b"\x08\x0anonsense")
    (folder / "README.md").write_text("no model")
    result = CliRunner().invoke(cli, ["publish", str(folder), "zoo:alexnet", "--format", "json"])
    assert result.exit_code == 1
    document = json.loads(result.stdout)
    assert [model["name"] for model in document["models"]] == ["a/model", "b/model", "c", "alexnet"]
    assert [model["zoo"] for model in document["models"]] == ["", "", "", "onnx"]
    (error,) = document["errors"]
    assert error["model"] == str(folder / "b/damaged.onnx")
    assert result.stderr == f"error: {error['reason']}\n"
    assert str(folder / "b/damaged.onnx") in error["reason"]
    assert {event.name for event in published()} == {"a/model", "b/model", "c", "alexnet"}


def test_a_larger_file_stays_where_it_is_with_a_warning(installation: Kind, tmp_path: Path) -> None:
    path = product(tmp_path / "large one.onnx", 5000, random_weights=True)
    assert path.stat().st_size > MAX_INLINE_MODEL_BYTES
    result = CliRunner().invoke(cli, ["publish", str(path)])
    assert result.exit_code == 0
    assert result.stderr.startswith("warning: large one, compressed, is larger than 1,000,000")
    assert path.as_uri() in result.stderr
    assert result.stderr.count("\n") == 1
    (event,) = published()
    assert (event.content, event.uri) == (None, path.as_uri())
    assert event.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.usefixtures("embedded")
def test_a_path_that_can_t_be_is_an_error_and_the_others_go_on(tmp_path: Path) -> None:
    path = product(tmp_path / "net.onnx", 16)
    result = CliRunner().invoke(cli, ["publish", "n" * 300, str(path)])
    assert result.exit_code == 1
    assert result.stderr.startswith("error: nnn")
    assert result.stderr.count("\n") == 1
    assert [event.name for event in published()] == ["net"]


def test_what_is_listed_by_path_is_to_be_seen_by_the_service(
    installation: Kind, tmp_path: Path
) -> None:
    """Nobody looked at the file, so nothing is said of its size."""
    listing = tmp_path / "zoo.jsonl"
    entry = {"name": "net", "uri": "file:///models/net.onnx", "sha256": "0" * 64}
    listing.write_text(json.dumps(entry))
    result = CliRunner().invoke(cli, ["publish", str(listing)])
    assert result.exit_code == 0
    if installation == "kafka":
        assert result.stderr.startswith("warning: net is listed as file:///models/net.onnx: the")
        assert "BENANZA_MODEL_UPLOADS" not in result.stderr
    else:
        assert result.stderr == ""


@pytest.mark.usefixtures("embedded")
def test_a_large_file_that_can_be_compressed_travels_in_the_event(tmp_path: Path) -> None:
    """Of more bytes than are kept of a file that is read."""
    path = product(tmp_path / "large.onnx", 20_000)
    assert path.stat().st_size > STRIPPED_FROM_BYTES
    result = CliRunner().invoke(cli, ["publish", str(path)])
    assert (result.exit_code, result.stderr) == (0, "")
    (event,) = published()
    assert event.content
    assert lzma.decompress(event.content) == path.read_bytes()
    assert event.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    path.unlink()
    assert parse(content_of(event, Limits()), Limits()).graph.node[0].op_type == "MatMul"


def test_a_listing_is_published_without_downloading_anything(
    installation: Kind, tmp_path: Path
) -> None:
    sha256 = hashlib.sha256(MODEL).hexdigest()
    with model_server() as (address, paths):
        uri = f"{address}/models/small%20one.onnx"
        good = {"name": "small", "uri": uri, "sha256": sha256}
        listing = tmp_path / "zoo.jsonl"
        listing.write_text(f"{json.dumps(good)}\n{json.dumps({**good, 'sha256': 'abc'})}\n")
        result = CliRunner().invoke(cli, ["publish", str(listing), "--zoo", "theirs"])
        assert paths == []
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {listing}, line 2: ")
    assert result.stderr.count("\n") == 1
    (event,) = published()
    assert (event.name, event.zoo, event.uri) == ("small", "theirs", uri)
    assert (event.sha256, event.content) == (sha256, None)


@pytest.mark.usefixtures("embedded")
@pytest.mark.parametrize(
    ("model", "complaint"),
    [
        ("nowhere.onnx", "there is no file nowhere.onnx"),
        ("nowhere.jsonl", "there is no file nowhere.jsonl"),
        ("zoo:nonsense", "no model 'nonsense' in the zoo"),
        ("empty", "empty holds no .onnx file"),
        ("http://127.0.0.1:9/model.onnx", "can't be fetched"),
    ],
)
def test_what_cannot_be_published_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, complaint: str
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["publish", model])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: "), result.stderr
    assert complaint in result.stderr
    assert result.stderr.count("\n") == 1
    assert published() == []


@pytest.mark.usefixtures("embedded")
def test_what_services_would_not_read_is_not_published(tmp_path: Path) -> None:
    listing = tmp_path / "zoo.jsonl"
    listing.write_text(json.dumps({"name": "a", "uri": "file:///a", "sha256": "a" * 64}))
    result = CliRunner().invoke(cli, ["publish", str(listing), "--zoo", "z" * 5000])
    assert result.exit_code == 1
    assert "`$.zoo`" in result.stderr
    assert published() == []


@pytest.mark.usefixtures("embedded")
def test_a_misspelt_dimension_is_told_the_publisher(tmp_path: Path) -> None:
    path = product(tmp_path / "product.onnx", 16)
    result = CliRunner().invoke(cli, ["publish", str(path), "--dim", "lenght=5"])
    assert result.exit_code == 1
    assert "did you mean 'length'" in result.stderr


@pytest.mark.usefixtures("embedded")
def test_a_file_whose_name_is_no_unicode(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    product(folder / "m.onnx", 16).rename(folder / b"\xff.onnx".decode(errors="surrogateescape"))
    result = CliRunner().invoke(cli, ["publish", str(folder)])
    assert result.exit_code == 0, result.output
    (event,) = published()
    assert (event.name, event.uri) == (r"\udcff", f"{folder.as_uri()}/%FF.onnx")


def test_the_next_run_takes_up_what_was_published(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder in which squeezenet was measured, and the machine's ceilings with it."""
    monkeypatch.setenv("BENANZA_DATA", str(data))
    small, smaller = product(tmp_path / "small.onnx", 16), product(tmp_path / "smaller.onnx", 8)
    for command, model in (("publish", small), ("run", smaller)):
        result = CliRunner().invoke(cli, [command, str(model), "--dim", "length=5"])
        assert result.exit_code == 0, result.output
    result = CliRunner().invoke(cli, ["bounds", "--format", "json"])
    models = {bound["model"] for bound in json.loads(result.stdout)["bounds"]}
    assert models == {"squeezenet", "small", "smaller"}


@pytest.mark.usefixtures("embedded")
def test_the_api_returns_the_same_document(tmp_path: Path) -> None:
    command = ["publish", "zoo:alexnet", "--batch", "2", "--format", "json"]
    document = json.loads(CliRunner().invoke(cli, command).stdout)
    found = benanza.publish("zoo:alexnet", batch=2)
    assert found.to_dict() == document
    assert "alexnet" in found._repr_html_()
    first, second = published()
    assert first == second
    assert content_of(first, Limits()) == zoo_path("alexnet").read_bytes()


@pytest.mark.usefixtures("embedded")
def test_the_api_raises_for_what_was_not_published_and_publishes_the_rest(tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match="there is no file"):
        benanza.publish([tmp_path / "nowhere.onnx", "zoo:alexnet"])
    assert [event.name for event in published()] == ["alexnet"]


@pytest.mark.usefixtures("embedded")
def test_run_and_publish_say_the_same_of_a_model(tmp_path: Path) -> None:
    """So that what was published is not ingested twice under two ids."""
    path = product(tmp_path / "product.onnx", 16)
    bound = ["--batch", "4", "--dim", "length=5"]
    assert CliRunner().invoke(cli, ["publish", str(path), *bound]).exit_code == 0
    (by_publish,) = published()
    request = RunRequest(models=(), batch_sizes=(4,), dims={"length": 5})
    (by_run,) = asked_models(str(path), request, Limits())
    assert msgspec.to_builtins(by_run.event) == msgspec.to_builtins(by_publish)
