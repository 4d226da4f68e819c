"""docs/publishing.md: what stands there works, against a real broker."""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

from benanza_backbone.kafka.connection import KafkaConnection
from benanza_backbone.kafka.log import KafkaEventLog
from benanza_backbone.kafka.topics import create_topics
from benanza_ingest.core import ingest
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import zoo_path
from benanza_schemas.codec import decode
from benanza_schemas.events import ModelIngested, ModelPublished
from benanza_schemas.json_schema import FOLDER, file_name
from benanza_schemas.topics import MODELS

DOCUMENT = Path(__file__).parents[3] / "docs" / "publishing.md"


def the_publisher() -> str:
    """The program of the document."""
    (program,) = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text("utf-8"), re.DOTALL)
    return str(program)


def test_the_publisher_is_20_lines_and_knows_nothing_of_this_package() -> None:
    program = the_publisher()
    assert sum(bool(line.strip()) for line in program.splitlines()) <= 20
    assert "benanza" not in program


def test_what_it_publishes_is_decoded_strictly_and_ingested(
    kafka: KafkaConnection, tmp_path: Path
) -> None:
    create_topics(kafka)
    (tmp_path / "publish_model.py").write_text(the_publisher())
    shutil.copy(FOLDER / file_name(ModelPublished), tmp_path)
    model = Path(shutil.copy(zoo_path("squeezenet"), tmp_path / "squeezenet.onnx"))
    arguments = [",".join(kafka.bootstrap), kafka.topic(MODELS), "squeezenet.onnx"]
    subprocess.run([sys.executable, "publish_model.py", *arguments], cwd=tmp_path, check=True)
    with KafkaEventLog(kafka) as log:
        (record,) = log.records(MODELS)
    event = decode(record.value)
    assert isinstance(event, ModelPublished)
    assert record.key == event.sha256.encode() == _sha256(model).encode()
    assert (event.name, event.zoo, event.batch_sizes) == ("squeezenet", "ours", (1, 8))
    content = fetch(event.uri, Limits(), event.sha256).content
    graphs = [e for e in ingest(event, content, Limits()) if isinstance(e, ModelIngested)]
    assert [graph.batch for graph in graphs] == [1, 8]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
