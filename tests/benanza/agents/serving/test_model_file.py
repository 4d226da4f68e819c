"""A model's file, and why there is none."""

import hashlib
from pathlib import Path

import pytest

from benanza.agents.serving.model_file import model_file, write_model
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_ingest.reading.allowed import ANYWHERE
from benanza_schemas.events import ModelPublished, event_id

CONTENT = bytes(100_000)


def published(uri: str = "") -> ModelPublished:
    return ModelPublished(
        event_id=event_id("ModelPublished", uri),
        name="m",
        uri=uri,
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        content=None if uri else CONTENT,
    )


def test_it_is_there_until_the_block_ends() -> None:
    with model_file(published(), Limits(), ANYWHERE) as path:
        assert path.read_bytes() == CONTENT
    assert not path.parent.exists()


@pytest.mark.parametrize("where", ["event", "file"])
def test_a_full_disk_is_told_as_such(tmp_path: Path, where: str) -> None:
    """It looked as if the model couldn't be fetched."""
    file = tmp_path / "m.onnx"
    file.write_bytes(CONTENT)
    model = published(file.as_uri() if where == "file" else "")
    with pytest.raises(ModelError) as error:
        write_model(model, Path("/dev/full"), Limits(), ANYWHERE)
    assert str(error.value) == (
        "the agent's machine can't keep the model's file: [Errno 28] No space left on device; "
        "make room in its folder for temporary files, and ask again"
    )


def test_what_else_is_in_the_way_is_not_told_as_lack_of_room(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"No such file .*; mend that, and ask again$"):
        write_model(published(), tmp_path / "nowhere" / "m.onnx", Limits(), ANYWHERE)


def test_what_fails_with_the_file_is_no_failure_to_keep_it() -> None:
    with (
        pytest.raises(OSError, match="too many processes"),
        model_file(published(), Limits(), ANYWHERE),
    ):
        raise OSError("too many processes")
