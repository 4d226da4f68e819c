"""docker-compose.yml: it is of the specification's form, and names only what exists."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
import yaml

from benanza.cli import cli
from benanza_backbone import settings
from benanza_backbone.clickhouse.connection import parse_address
from benanza_backbone.confining.confine import MEMORY_BYTES
from benanza_runner.isolation.device_turn import FOLDER
from tests.deploy.compose import BESIDE_BYTES, COMPOSE, OURS, ROOT, SERVICES, seconds
from tests.deploy.image import Dockerfile

COMPOSE_GO = "github.com/compose-spec/compose-go/v2/cmd@v2.16.2"

RUNNERS = ("runner", "runner-gpu", "agent")

SMALLEST_MACHINE_BYTES = 20 * 2**30
"""What docs/deploying.md asks for."""


def _check(file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    return subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)


def test_it_is_of_the_specification_s_form() -> None:
    found = _check(ROOT / "docker-compose.yml")
    assert found.returncode == 0, found.stdout


def test_the_specification_is_asked(tmp_path: Path) -> None:
    wrong = COMPOSE | {"services": SERVICES | {"kafka": {"imago": "apache/kafka"}}}
    file = tmp_path / "docker-compose.yml"
    file.write_text(yaml.safe_dump(wrong))
    assert "imago" in _check(file).stdout


@pytest.mark.integration
@pytest.mark.skipif(shutil.which("go") is None, reason="no Go to build compose-go with")
def test_compose_reads_it_with_every_profile() -> None:
    """Compose's own reader fills in variables, resolves references and looks for contradictions."""
    found = subprocess.run(
        [
            "go",
            "run",
            "-gcflags=all=-N -l -dwarf=false",
            COMPOSE_GO,
            "--format",
            "json",
            str(ROOT / "docker-compose.yml"),
        ],
        env=os.environ | {"COMPOSE_PROFILES": "gpu,agent"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert set(json.loads(found.stdout)["services"]) == set(SERVICES)


@pytest.mark.parametrize("name", SERVICES)
def test_logs_do_not_fill_the_disk(name: str) -> None:
    logging = SERVICES[name]["logging"]
    assert logging["driver"] == "json-file"
    assert {"max-size", "max-file"} == set(logging["options"])


def _environment(service: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = service.get("environment", {})
    return found


@pytest.mark.parametrize("name", [*OURS, "topics"])
def test_every_setting_exists_and_is_read(name: str, tmp_path: Path) -> None:
    environment = _environment(SERVICES[name])
    dsn = tmp_path / "dsn"
    dsn.write_text("clickhouse://benanza:secret@clickhouse:8123/benanza")
    if "BENANZA_CLICKHOUSE_FILE" in environment:
        environment = environment | {"BENANZA_CLICKHOUSE_FILE": str(dsn)}
    image = {k: v for k, v in Dockerfile(_file(name)).environment.items() if k != "PATH"}
    found = settings.load(image | environment)
    assert not found.unknown
    assert found.kafka
    assert found.kafka.bootstrap == ("kafka:19092",)


def _file(name: str) -> Path:
    (build,) = _builds(SERVICES[name]["image"])
    return ROOT.joinpath(str(build["dockerfile"]))


def _builds(image: str) -> list[dict[str, str]]:
    """How the image of this name is built, each time that it is said."""
    return [s["build"] for s in SERVICES.values() if s["image"] == image and "build" in s]


@pytest.mark.parametrize("name", [*OURS, "topics"])
def test_every_command_exists(name: str) -> None:
    image = Dockerfile(_file(name))
    assert image.entrypoint == ["benanza"]
    command: click.Command = cli
    for word in SERVICES[name].get("command", image.command):
        assert isinstance(command, click.Group), word
        found = command.get_command(click.Context(command), word)
        assert found is not None, word
        command = found
    assert not isinstance(command, click.Group)


@pytest.mark.parametrize("name", OURS)
def test_a_service_ends_by_itself_before_it_is_killed(name: str) -> None:
    drain = float(_environment(SERVICES[name])["BENANZA_DRAIN_TIMEOUT_S"])
    assert seconds(SERVICES[name]["stop_grace_period"]) >= drain + 10


def test_no_service_has_more_rights_than_it_needs() -> None:
    for name, service in SERVICES.items():
        assert "privileged" not in service
        assert service.get("read_only") or name not in (*OURS, "topics")
        # ClickHouse starts as root, and becomes a user of its own.
        if name != "clickhouse":
            assert service["cap_drop"] == ["ALL"]
            assert service["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("name", OURS)
def test_a_service_can_write_to_its_data_folder(name: str) -> None:
    service = SERVICES[name]
    folder = Dockerfile(_file(name)).environment["BENANZA_DATA"]
    assert folder in service["volumes"]


@pytest.mark.parametrize("name", OURS)
def test_a_service_starts_when_its_topics_are_there(name: str) -> None:
    needed = SERVICES[name]["depends_on"]
    assert needed["topics"] == {"condition": "service_completed_successfully"}
    assert SERVICES["topics"]["depends_on"] == {"kafka": {"condition": "service_healthy"}}


def test_everything_that_lasts_is_restarted_and_watched() -> None:
    for name, service in SERVICES.items():
        if name == "topics":
            continue
        assert service["restart"] == "unless-stopped", name
        assert "healthcheck" in service or "build" in service, name


def test_no_port_is_open_beyond_this_machine() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == 4
    for port in ports:
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)
    assert not any("network_mode" in service for service in SERVICES.values())


def test_no_password_stands_in_it() -> None:
    for name, service in SERVICES.items():
        for variable, value in _environment(service).items():
            if re.search("PASSWORD|SECRET|TOKEN|DSN|CLICKHOUSE$", variable):
                assert variable.endswith("_FILE"), name
                assert str(value).startswith("/run/secrets/"), name
    assert "://benanza:" not in (ROOT / "docker-compose.yml").read_text("utf-8")
    for secret in COMPOSE["secrets"].values():
        assert list(secret) == ["file"]


def test_every_secret_is_declared_and_every_volume_too() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"]), name
        for path in re.findall(r"/run/secrets/([\w-]+)", str(service)):
            assert path in service["secrets"], name
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            assert source.startswith((".", "/", "$")) or source in COMPOSE["volumes"], volume


def test_every_file_mounted_exists() -> None:
    mounted = [
        source
        for service in SERVICES.values()
        for source in (volume.partition(":")[0] for volume in service.get("volumes", []))
        if source.startswith("./")
    ]
    assert len(mounted) >= 5
    for source in mounted:
        assert ROOT.joinpath(source).exists(), source


@pytest.mark.parametrize("name", [*OURS, "topics"])
def test_every_build_has_its_dockerfile_and_stage(name: str) -> None:
    (build,) = _builds(SERVICES[name]["image"])
    assert ROOT / build["context"] == ROOT
    stages = Dockerfile(_file(name)).stages
    assert build.get("target", stages[-1].name) in [stage.name for stage in stages]


def test_nobody_else_s_image_stands_in_for_one_of_ours() -> None:
    for name in (*OURS, "topics"):
        assert "build" in SERVICES[name] or SERVICES[name]["pull_policy"] == "never"


def test_images_have_versions() -> None:
    for name, service in SERVICES.items():
        if not _builds(service["image"]):
            assert re.search(r":v?\d+\.\d+", service["image"]), name


def test_kafka_is_of_the_version_that_the_tests_run_against() -> None:
    pom = (ROOT / "deploy" / "kafka" / "pom.xml").read_text("utf-8")
    version = SERVICES["kafka"]["image"].partition(":")[2]
    assert re.search(rf"<artifactId>kafka_2.13</artifactId>\s*<version>{version}</version>", pom)


def test_the_gpu_runner_is_asked_for_by_name_and_gets_a_gpu() -> None:
    gpu = SERVICES["runner-gpu"]
    assert gpu["profiles"] == ["gpu"]
    (device,) = gpu["deploy"]["resources"]["reservations"]["devices"]
    assert device["driver"] == "nvidia"
    assert "profiles" not in SERVICES["runner"]


def test_memory_and_processors_are_limited_everywhere() -> None:
    for name, service in SERVICES.items():
        assert _bytes(service["mem_limit"]) > 0, name
        assert service["cpuset"], name
        # A runner has its processors to itself, and the whole of them.
        assert ("cpus" in service) == (name not in RUNNERS), name
    always = [service for service in SERVICES.values() if "profiles" not in service]
    assert sum(_bytes(service["mem_limit"]) for service in always) <= SMALLEST_MACHINE_BYTES


def test_what_reads_a_model_has_the_memory_that_it_may_take() -> None:
    assert _bytes(SERVICES["ingest"]["mem_limit"]) >= MEMORY_BYTES + BESIDE_BYTES


def test_what_measures_shares_its_processors_with_nobody_but_in_turns() -> None:
    sets = {name: _processors(service["cpuset"]) for name, service in SERVICES.items()}
    in_turns = {name for name in SERVICES if _turns(name)}
    assert in_turns == {"runner", "runner-gpu", "agent"}
    for runner in RUNNERS:
        for name, others in sets.items():
            alone = name == runner or {name, runner} <= in_turns
            assert alone or not sets[runner] & others, (runner, name)


def _turns(name: str) -> bool:
    """Whether it sees the files by which all take turns that see them."""
    return f"turns:/tmp/{FOLDER}" in SERVICES[name].get("volumes", [])


def _processors(cpuset: str) -> set[int]:
    """Those that a variable names by default."""
    match = re.fullmatch(r"\$\{\w+_CPUS:-([\d,-]+)\}", cpuset)
    assert match
    ends = [part.split("-") for part in match[1].split(",")]
    return {cpu for part in ends for cpu in range(int(part[0]), int(part[-1]) + 1)}


def _bytes(text: str) -> int:
    return int(text[:-1]) * {"m": 2**20, "g": 2**30}[text[-1]]


def test_the_passwords_are_made_once(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    made = [_secrets(folder), _secrets(folder)]
    assert made[0] == made[1]
    assert set(made[0]) == {Path(s["file"]).name for s in COMPOSE["secrets"].values()}
    passwords = [made[0][name] for name in made[0] if name.endswith("-password")]
    assert len(set(passwords)) == len(passwords) == 3
    assert all(re.fullmatch("[0-9a-f]{48}", password) for password in passwords)
    assert parse_address(made[0]["clickhouse-dsn"]).password == made[0]["clickhouse-password"]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_secrets_of_ones_own_are_kept_and_made_readable(tmp_path: Path) -> None:
    own = {"clickhouse-dsn": "clickhouses://user:pw@ch.example:8443/benanza", "kafka-ca": "ca"}
    for name, content in own.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o600)
    assert own.items() <= _secrets(tmp_path).items()
    assert all(stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o644 for name in own)


def _secrets(folder: Path) -> dict[str, str]:
    subprocess.run([ROOT / "deploy" / "make-secrets", folder], check=True)
    return {file.name: file.read_text() for file in folder.iterdir()}


def test_git_leaves_the_passwords_alone() -> None:
    assert ROOT.joinpath("deploy/secrets/.gitignore").read_text().splitlines()[-2:] == [
        "*",
        "!.gitignore",
    ]
