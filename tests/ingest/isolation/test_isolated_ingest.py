"""Ingest in processes of its own: what a model does to one is told, and costs no other model."""

import lzma
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np
import psutil
import pytest
from onnx import TensorProto, helper, numpy_helper

from benanza.publishing.asked_models import asked_models
from benanza.request import RunRequest
from benanza_backbone.confining import landlock
from benanza_backbone.confining.confine import Confinement
from benanza_backbone.errors import BenanzaError
from benanza_backbone.model_sources import parse_sources
from benanza_ingest.errors import ModelError
from benanza_ingest.isolation.forking_worker import ForkingWorker, environment
from benanza_ingest.isolation.isolated_ingest import IsolatedIngest
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of, ingest_published
from benanza_ingest.reading.allowed import Allowed
from benanza_schemas.codec import encode
from benanza_schemas.events import ModelIngested, ModelPublished
from benanza_schemas.events.derivation import Quantised
from tests.ingest.isolation import misbehaving
from tests.ingest.reading.model_server import model_server
from tests.ingest.real_models import content

pytestmark = pytest.mark.integration

LIMITS = Limits()
MISBEHAVING = misbehaving.__name__


@pytest.fixture(scope="module")
def ingest() -> Iterator[IsolatedIngest]:
    with IsolatedIngest(module=MISBEHAVING) as ingest:
        yield ingest


@pytest.fixture(scope="module")
def model() -> ModelPublished:
    (asked,) = asked_models("zoo:alexnet", RunRequest(models=()), LIMITS)
    return asked.event


def named(model: ModelPublished, name: str) -> ModelPublished:
    return msgspec.structs.replace(model, name=name)


def told(ingest: IsolatedIngest, model: ModelPublished, name: str) -> str:
    """What a model of this name makes its process say."""
    with pytest.raises(ModelError) as caught:
        ingest(named(model, name), LIMITS)
    return str(caught.value)


@contextmanager
def started(longest_s: float = 600) -> Iterator[tuple[IsolatedIngest, psutil.Process]]:
    """Ingest, and the process that starts a child for each model."""
    others = set(psutil.Process().children())
    with IsolatedIngest(longest_s=longest_s, module=MISBEHAVING) as ingest:
        (process,) = set(psutil.Process().children()) - others
        yield ingest, process


def test_it_says_what_ingest_says_in_this_process(
    ingest: IsolatedIngest, model: ModelPublished
) -> None:
    assert ingest(model, LIMITS) == ingest_published(model, LIMITS)


@pytest.mark.parametrize("name", ["transformers-gpt2", "timm-vit_tiny_patch16_224"])
def test_at_all_batch_sizes_with_networks(ingest: IsolatedIngest, name: str) -> None:
    file = content(name)
    published = ModelPublished(
        event_id="0" * 32,
        name=name,
        sha256=sha256(file).hexdigest(),
        content=lzma.compress(file),
        content_encoding="xz",
        batch_sizes=(1, 2),
        granularity=3,
    )
    found = ingest_published(published, LIMITS)
    assert {event.batch for event in found if isinstance(event, ModelIngested)} == {1, 2}
    assert ingest(published, LIMITS) == found


@pytest.mark.parametrize("to", ["int8", "fp8", "int4"])
def test_a_model_that_is_quantised_first(ingest: IsolatedIngest, to: Quantised) -> None:
    file = content("timm-vit_tiny_patch16_224")
    published = ModelPublished(
        event_id="0" * 32,
        name="vit",
        sha256=sha256(file).hexdigest(),
        content=lzma.compress(file),
        content_encoding="xz",
        quantised=to,
    )
    found = ingest_published(published, LIMITS)
    assert [event.quantised for event in found if isinstance(event, ModelIngested)] == [to]
    assert ingest(published, LIMITS) == found


def test_a_model_that_is_none_is_told_as_ever(
    ingest: IsolatedIngest, model: ModelPublished, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=f"there is no file {tmp_path}/lost.onnx"):
        ingest(
            msgspec.structs.replace(model, content=None, uri=(tmp_path / "lost.onnx").as_uri()),
            LIMITS,
        )
    unreachable = msgspec.structs.replace(model, content=None, uri="http://127.0.0.1:9/m.onnx")
    with pytest.raises(ModelError, match="can't be fetched"):
        ingest(unreachable, LIMITS)
    with pytest.raises(ModelError, match="asks for 65 batch sizes"):
        ingest(msgspec.structs.replace(model, batch_sizes=tuple(range(1, 66))), LIMITS)


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("crash", "the process was ended by SIGSEGV"),
        ("exit", "the process ended with status 7"),
        ("print", r"the process ended with status 7: ERROR forged\\x1b\[0m"),
        ("print much", "the process ended with status 7: x{200}…x{40}"),
    ],
)
def test_a_model_that_ends_its_process_is_named(
    ingest: IsolatedIngest, model: ModelPublished, name: str, end: str
) -> None:
    said = told(ingest, model, name)
    assert re.match(f"{name} was not ingested: {end}, each of 2 times; ", said)
    assert "\n" not in said
    assert ingest(model, LIMITS)


def test_a_defect_of_ingest_is_told_with_its_place(
    ingest: IsolatedIngest, model: ModelPublished
) -> None:
    said = told(ingest, model, "a defect")
    assert said.startswith(
        'a defect shows a defect of ingest (KeyError: "what isn\'t\\nthere", in misbehaving.py:'
    )


def test_a_process_that_was_killed_once_is_no_fault_of_the_model(model: ModelPublished) -> None:
    with started() as (ingest, process), ThreadPoolExecutor() as threads:
        found = threads.submit(ingest, named(model, "slow"), LIMITS)
        time.sleep(1)
        (child,) = process.children()
        child.kill()
        assert found.result()


@pytest.mark.parametrize("name", ["hang", "hang in native code"])
def test_a_model_that_hangs_is_given_up(model: ModelPublished, name: str) -> None:
    with started(longest_s=1) as (ingest, process):
        with pytest.raises(ModelError, match="was not ingested within 1 s"):
            ingest(named(model, name), LIMITS)
        assert not process.is_running()
    with started() as (ingest, _):
        assert ingest(model, LIMITS)


def test_a_model_that_takes_too_much_memory_is_given_up(
    ingest: IsolatedIngest, model: ModelPublished
) -> None:
    said = told(ingest, model, "take all memory")
    assert "take all memory takes more than 4,294,967,296 bytes of memory" in said
    assert ingest(model, LIMITS)


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_what_takes_the_process_over_gets_nowhere(
    ingest: IsolatedIngest, model: ModelPublished, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    tmp_path.chmod(0o777)
    assert ingest.confinement == Confinement(files=True, calls=True)
    said = told(ingest, model, f"break out of {tmp_path}")
    assert said.count(": PermissionError") == said.count(": ") == 19
    assert [path.name for path in tmp_path.iterdir()] == ["secret"]


def test_what_is_not_in_force_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    nothing = Confinement(files=False, calls=False)
    monkeypatch.setattr(ForkingWorker, "__init__", lambda worker, *_: None)
    monkeypatch.setattr(ForkingWorker, "confinement", nothing, raising=False)
    IsolatedIngest()
    (record,) = caplog.records
    assert record.message == (
        "models are ingested by a process that keeps write access (the kernel has no Landlock) and "
        "network (no seccomp filter can be set)"
    )


def test_a_model_is_fetched_by_a_process_that_has_the_network(model: ModelPublished) -> None:
    with model_server({"/m.onnx": content_of(model, LIMITS)}) as (address, paths):
        away = msgspec.structs.replace(model, content=None, uri=f"{address}/m.onnx")
        allowed = Allowed(parse_sources(address))
        with IsolatedIngest(allowed) as ingest:
            assert ingest(away, LIMITS) == ingest_published(model, LIMITS)
        with (
            IsolatedIngest(Allowed(())) as ingest,
            pytest.raises(ModelError, match=f"may not fetch from {address}"),
        ):
            ingest(away, LIMITS)
        assert len(paths) == 1


def test_what_is_fetched_may_be_large(model: ModelPublished, tmp_path: Path) -> None:
    """Its weights are left out, and are no part of the checksum that the events have."""
    file = tmp_path / "large.onnx"
    file.write_bytes(large_model())
    published = msgspec.structs.replace(
        model, content=None, uri=file.as_uri(), sha256=sha256(file.read_bytes()).hexdigest()
    )
    with IsolatedIngest(Allowed(parse_sources(tmp_path.as_uri()))) as ingest:
        assert ingest(published, LIMITS) == ingest_published(published, LIMITS)


def test_processes_know_no_passwords(
    model: ModelPublished, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENANZA_KAFKA_SECURITY_PASSWORD", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with started() as (ingest, process):
        assert "secret" not in process.environ().values()
        names = told(ingest, model, "environment").split()
    assert "OPENBLAS_NUM_THREADS" in names
    assert not [name for name in names if name.startswith(("BENANZA", "AWS"))]


def test_only_who_fetches_has_the_credentials_of_the_object_store() -> None:
    given = {"AWS_ACCESS_KEY_ID": "k", "BENANZA_CLICKHOUSE": "c", "LANG": "C", "HOME": "/h"}
    assert environment(given, network=False).keys() & given.keys() == {"LANG"}
    assert environment(given, network=True).keys() & given.keys() == {
        "AWS_ACCESS_KEY_ID",
        "LANG",
        "HOME",
    }


def test_each_model_has_a_process_for_itself(model: ModelPublished) -> None:
    with started() as (ingest, process):
        children = [int(told(ingest, model, "process id")) for _ in range(3)]
        assert len(set(children)) == 3
        assert process.is_running()
        assert not any(map(psutil.pid_exists, children[:2]))
        assert not process.threads()[1:]
    assert not process.is_running()


def test_a_process_that_was_killed_while_idle_is_no_fault_of_the_next_model(
    model: ModelPublished,
) -> None:
    with started() as (ingest, process):
        process.kill()
        assert ingest(model, LIMITS)


def test_a_process_that_can_not_be_had_is_tried_again_with_the_next_model(
    model: ModelPublished, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError("the system has no room for a process")

    with started() as (ingest, process):
        process.kill()
        with monkeypatch.context() as patch:
            patch.setattr(subprocess, "Popen", refused)
            with pytest.raises(OSError, match="no room"):
                ingest(model, LIMITS)
        assert ingest(model, LIMITS)


def test_a_process_that_does_not_start_says_why() -> None:
    with pytest.raises(BenanzaError, match=r"ended with status 1: .* No module named") as caught:
        IsolatedIngest(module="tests.ingest.isolation.nothing")
    assert str(caught.value).startswith("the process that ingests models can't be started: ")


@pytest.mark.parametrize("name", ["alexnet", "hang"])
def test_processes_end_with_the_one_that_started_them(model: ModelPublished, name: str) -> None:
    """However that ends: here by SIGKILL, while they are idle, and while one hangs."""
    code = f"""
import sys
from benanza_ingest.isolation.isolated_ingest import IsolatedIngest
from benanza_ingest.limits import Limits
from benanza_schemas.codec import decode
ingest = IsolatedIngest(module="{MISBEHAVING}")
print("up", flush=True)
ingest(decode(bytes.fromhex(sys.argv[1])), Limits())
input()
"""
    event = encode(named(model, name)).hex()
    with subprocess.Popen(
        [sys.executable, "-c", code, event],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        time.sleep(1)
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGKILL)
    assert children
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []


def large_model() -> bytes:
    """A convolution with 8 MB of weights inside."""
    weights = numpy_helper.from_array(np.ones((512, 512, 2, 4), np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"])],
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 512, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [weights],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])
    return model.SerializeToString()
