"""The Dockerfiles: what they promise, and their steps carried out without Docker."""

import json
import re
import signal
import socket
import subprocess
import sys
import time
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

from tests.deploy.compose import ROOT
from tests.deploy.image import Dockerfile, Image
from tests.shared import made_once

SERVICES = ("ingest", "analyzer", "dedupe", "runner")

ENGINE = {"chdb", "chdb-core", "pandas", "pyarrow"}
FAUST = {"faust-streaming", "aiokafka", "rocksdict"}

REPORT = {"jinja2", "plotly"}

LEFT_OUT = {
    "ingest": ENGINE | REPORT | FAUST | {"onnxruntime"},
    "dedupe": ENGINE | REPORT | {"onnxruntime"},
    "runner": ENGINE | REPORT | FAUST,
    "analyzer": ENGINE | REPORT | FAUST | {"onnxruntime"},
}
"""What a service never imports; without it, an image is a third of the size."""

HELD = {"runner": {"onednn-cpu-gomp", "onnxruntime", "openvino"}}
"""By what a runner measures on a CPU."""

STARTED_S = 60.0

ARGUMENTS = {"runner": ["--precision", "tf32"]}
"""On a CPU there is nothing to measure at this precision, which the runner would have to end."""


def _dockerfile(service: str) -> Dockerfile:
    return Dockerfile(ROOT / "services" / service / "Dockerfile")


@pytest.mark.parametrize("service", SERVICES)
def test_it_runs_the_service_as_nobody_special(service: str) -> None:
    dockerfile = _dockerfile(service)
    assert dockerfile.entrypoint == ["benanza"]
    assert dockerfile.command == ["serve", service]
    assert dockerfile.last("STOPSIGNAL") == "SIGTERM"
    for stage in dockerfile.stages:
        if "USER" in [name for name, _ in dockerfile.steps(stage)]:
            assert dockerfile.last("USER", stage) == "10001"
    assert dockerfile.last("EXPOSE") == dockerfile.environment["BENANZA_METRICS_PORT"]


@pytest.mark.parametrize("service", SERVICES)
def test_versions_are_pinned(service: str) -> None:
    dockerfile = _dockerfile(service)
    names = {stage.name for stage in dockerfile.stages}
    for stage in dockerfile.stages:
        assert stage.base in names or re.search(r":\d+\.\d+-slim-", stage.base)
    (build,) = (stage for stage in dockerfile.stages if stage.name == "build")
    assert "PIP_CONSTRAINT=/src/constraints.txt" in dockerfile.last("ENV", build)


@pytest.mark.parametrize("service", SERVICES)
def test_the_build_gets_nothing_but_sources(service: str, tmp_path: Path) -> None:
    """Passwords, data and virtual environments stay out of what is sent to Docker."""
    copied = [
        word
        for stage in _dockerfile(service).stages
        for name, value in stage.steps
        if name == "COPY" and not value.startswith("--from=")
        for word in value.split()[:-1]
    ]
    allowed = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE)
    assert set(copied) == set(allowed)


@pytest.fixture(scope="module", params=SERVICES)
def service(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def image(service: str) -> Image:
    """Dockerfiles that differ only in what they run have one, which is made once."""
    dockerfile = _dockerfile(service)
    name = f"image-{sha256(repr(dockerfile.made()).encode()).hexdigest()[:16]}"
    folder = made_once(name, lambda folder: Image(dockerfile, ROOT, folder).build())
    return Image(dockerfile, ROOT, folder)


@pytest.mark.integration
@pytest.mark.timeout(900)
class TestBuilt:
    def test_it_holds_only_what_the_service_needs(self, service: str, image: Image) -> None:
        lines, _ = image.run(["pip", "list", "--format=json"], {}).communicate()
        installed = {each["name"] for each in json.loads(lines.splitlines()[0])}
        assert "benanza" in installed
        assert installed >= HELD.get(service, set())
        assert not installed & (LEFT_OUT[service] | {"pytest", "mypy", "ruff"})

    def test_it_becomes_healthy_and_ends_when_told(
        self, service: str, image: Image, kafka_bootstrap: str, tmp_path: Path
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = {
            "BENANZA_KAFKA": kafka_bootstrap,
            "BENANZA_KAFKA_PREFIX": f"image-{service}-{port}.",
            "BENANZA_METRICS_PORT": str(port),
            "BENANZA_DATA": str(tmp_path),
            # Nobody is there: the service waits, and lives.
            "BENANZA_CLICKHOUSE": "clickhouse://nobody@127.0.0.1:9/benanza",
        }
        dockerfile = _dockerfile(service)
        command = [*dockerfile.entrypoint, *dockerfile.command, *ARGUMENTS.get(service, ())]
        process = image.run(command, environment)
        try:
            deadline = time.monotonic() + STARTED_S
            while image.run(dockerfile.healthcheck, environment).wait() != 0:
                assert process.poll() is None, process.communicate()[0].decode()
                assert time.monotonic() < deadline, "it did not become healthy"
                time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=45)
            assert process.returncode == 0, said.decode()
        finally:
            process.kill()


def requirements(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "deploy/requirements.py", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [("--without", "numpi"), ("--extra", "cudda")])
def test_a_requirement_that_is_none_is_refused(arguments: tuple[str, str]) -> None:
    found = requirements(*arguments)
    assert found.returncode == 2
    assert arguments[1] in found.stderr


@pytest.mark.parametrize("service", SERVICES)
def test_every_stage_asks_for_requirements_that_there_are(service: str) -> None:
    steps = [text for stage in _dockerfile(service).stages for name, text in stage.steps]
    asked = re.findall(r"python requirements.py ([^>]*)>", " ".join(steps))
    assert asked
    for arguments in asked:
        found = requirements(*arguments.replace("\\", " ").split())
        assert found.returncode == 0, found.stderr


def test_the_image_for_gpus_has_what_the_gpu_runtime_needs() -> None:
    """A GPU runner without it would measure with ONNX Runtime, on the CPU."""
    (gpu,) = (stage for stage in _dockerfile("runner").stages if stage.name == "build-gpu")
    (step,) = (value for name, value in gpu.steps if name == "RUN")
    (arguments,) = re.findall(r"python requirements.py (.*?) *\\?\s*> requirements-gpu", step)
    wanted = set(requirements(*arguments.split()).stdout.splitlines())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert wanted > set(project["optional-dependencies"]["cuda"])
    assert any(text.startswith("onnxruntime") for text in wanted)
    assert "requirements-gpu.txt" in step.partition("pip install")[2]


def test_the_image_for_cpus_has_the_openmp_that_onednn_is_linked_with() -> None:
    (package,) = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
        "optional-dependencies"
    ]["cpu"][:1]
    assert package.startswith("onednn-cpu-gomp")
    installed = [text for name, text in _dockerfile("runner").stages[-1].steps if name == "RUN"]
    assert any(re.search(r"apt-get install .*\blibgomp1\b", text) for text in installed)
