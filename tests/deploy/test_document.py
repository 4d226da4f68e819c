"""docs/deploying.md: what it tells people to type is there."""

import re
from pathlib import Path

import click
import pytest
import yaml

from benanza.cli import cli
from benanza.running.each_gpu import environments_of
from benanza_backbone import settings
from benanza_backbone.model_sources import BucketSource
from benanza_schemas.topics import JOBS, LAYERS, MODELS, PARTITIONS
from tests.deploy.compose import COMPOSE, ROOT, SERVICES
from tests.deploy.image import Dockerfile

TEXT = (ROOT / "docs" / "deploying.md").read_text("utf-8")
EXAMPLES = list(map(yaml.safe_load, re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)))
OVERRIDES = [example for example in EXAMPLES if "services" in example]
(OVERRIDE,) = (example for example in OVERRIDES if "x-kafka" in example)
(STORE,) = (example for example in OVERRIDES if "aws" in example.get("secrets", {}))


def test_every_command_exists() -> None:
    commands = re.findall(r"\bbenanza ((?:[a-z-]+ ?){1,2})", "\n".join(_typed()))
    assert len(commands) >= 6
    for words in commands:
        command: click.Command = cli
        for word in words.split():
            if isinstance(command, click.Group):
                found = command.get_command(click.Context(command), word)
                assert found is not None, words
                command = found


def _typed() -> list[str]:
    """What people are told to type, in blocks and within sentences."""
    sentences = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
    return [*re.findall(r"```\n(.*?)```", TEXT, re.DOTALL), *re.findall(r"`([^`\n]+)`", sentences)]


def test_every_service_and_setting_exists() -> None:
    services = set(SERVICES)
    for name in re.findall(r"docker compose (?:exec(?: -T)?|logs --follow) ([a-z-]+)", TEXT):
        assert name in services
    for name in re.findall(r"--scale ([a-z-]+)=", TEXT):
        assert name in services
    assert all(set(override["services"]) <= services for override in OVERRIDES)
    listed = {setting.name for setting in settings.load({}).listed}
    for variable in re.findall(r"BENANZA_[A-Z_]+", TEXT):
        assert variable.removesuffix("_FILE") in listed or variable in listed, variable


def test_the_settings_of_the_example_are_good(tmp_path: Path) -> None:
    environment = dict(OVERRIDE["services"]["ingest"]["environment"])
    for variable, value in environment.items():
        if value.startswith("/run/secrets/"):
            assert Path(value).name in OVERRIDE["secrets"]
            file = tmp_path / Path(value).name
            file.write_text("content")
            environment[variable] = str(file)
    found = settings.load(environment)
    assert not found.unknown
    assert found.kafka
    assert found.kafka.security_protocol == "SASL_SSL"
    assert found.kafka.sasl_mechanism == "SCRAM-SHA-512"
    assert found.kafka.sasl_password == "content"
    assert found.kafka.ca_file == str(tmp_path / "kafka-ca")
    assert len(found.kafka.bootstrap) == 2


def test_the_example_of_an_object_store_is_good() -> None:
    ingest = STORE["services"]["ingest"]
    environment = ingest["environment"]
    found = settings.load(environment)
    former = settings.load(SERVICES["ingest"]["environment"])
    assert found.model_sources == (*former.model_sources, BucketSource("models", "benanza"))
    assert [environment["AWS_SHARED_CREDENTIALS_FILE"]] == [
        f"/run/secrets/{name}" for name in ingest["secrets"]
    ]
    assert ingest["secrets"] == list(STORE["secrets"])


def test_every_variable_of_the_compose_file_is_explained() -> None:
    used = re.findall(r"\$\{(\w+):-", str(COMPOSE))
    assert {"RUNNER_CPUS", "MODELS"} <= set(used)
    for variable in used:
        assert variable in TEXT, variable


def test_what_an_example_sets_is_set_in_the_compose_file() -> None:
    (raised,) = (override for override in OVERRIDES if override not in (OVERRIDE, STORE))
    for name, changed in raised["services"].items():
        assert set(changed) <= set(SERVICES[name]), name


def test_each_runner_of_a_machine_is_a_target_of_prometheus() -> None:
    (example,) = (each for each in EXAMPLES if "static_configs" in each)
    (scraped,) = example["static_configs"]
    ports = [target.rpartition(":")[2] for target in scraped["targets"]]
    gpus = tuple(map(str, range(len(ports))))
    first = int(Dockerfile(ROOT / SERVICES["runner-gpu"]["build"]["dockerfile"]).last("EXPOSE"))
    runners = environments_of(gpus, first, {}).values()
    assert ports == [runner["BENANZA_METRICS_PORT"] for runner in runners]


@pytest.mark.parametrize(
    ("service", "topic"), [("ingest", MODELS), ("dedupe", LAYERS), ("runner", JOBS)]
)
def test_no_more_copies_help_than_there_are_partitions(service: str, topic: str) -> None:
    assert re.search(rf"^\| {service} \| {PARTITIONS[topic]}\b.*`{topic}`", TEXT, re.MULTILINE)


def test_every_open_port_is_named() -> None:
    for service in SERVICES.values():
        for port in service.get("ports", []):
            assert f"| {port.rpartition(':')[0]} |" in TEXT


@pytest.mark.parametrize("volume", ["kafka", "clickhouse"])
def test_what_is_backed_up_is_a_volume(volume: str) -> None:
    assert volume in COMPOSE["volumes"]
    assert f"{COMPOSE['name']}_$volume" in TEXT
