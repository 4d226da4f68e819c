"""deploy/kubernetes: what it renders to is of Kubernetes's form, and names only what exists."""

import re
import shutil
from itertools import combinations
from pathlib import Path

import click
import jsonschema
import pytest
import yaml
from kubernetes_validate import validate

from benanza.cli import cli
from benanza_backbone import settings
from benanza_backbone.confining.confine import MEMORY_BYTES
from tests.deploy.compose import BESIDE_BYTES, OURS, ROOT, SERVICES
from tests.deploy.image import Dockerfile
from tests.deploy.manifests import (
    CAN_RENDER,
    FOLDER,
    NEWEST,
    OLDEST,
    Manifest,
    container_of,
    of_kind,
    rendered,
)

TEXT = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(
        not CAN_RENDER, reason="neither kubectl nor Go, to render the manifests with"
    ),
]


@pytest.fixture(scope="module")
def manifests() -> list[Manifest]:
    return rendered()


@pytest.fixture(scope="module")
def deployments(manifests: list[Manifest]) -> dict[str, Manifest]:
    return of_kind("Deployment", manifests)


@pytest.fixture(scope="module")
def pods(manifests: list[Manifest]) -> dict[str, Manifest]:
    """What the Deployments and the Job make pods of."""
    found = of_kind("Deployment", manifests) | of_kind("Job", manifests)
    return {name: each["spec"]["template"] for name, each in found.items()}


def _image(container: Manifest) -> str:
    """The image's name, without its version."""
    return str(container["image"]).partition(":")[0]


def _dockerfile(image: str) -> Dockerfile:
    (build,) = [s["build"] for s in SERVICES.values() if s["image"] == image and "build" in s]
    return Dockerfile(ROOT.joinpath(build["dockerfile"]))


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_every_object_is_of_its_form(manifests: list[Manifest], version: str) -> None:
    assert len(manifests) >= 12
    for manifest in manifests:
        validate(manifest, version, strict=True)


def test_the_form_is_asked(deployments: dict[str, Manifest]) -> None:
    wrong = yaml.safe_load(yaml.safe_dump(deployments["ingest"]))
    container_of(wrong["spec"]["template"])["imago"] = "benanza-ingest"
    with pytest.raises(jsonschema.ValidationError, match="imago"):
        validate(wrong, OLDEST, strict=True)


def test_the_document_names_the_versions() -> None:
    assert f"from {OLDEST} to {NEWEST}" in TEXT


def test_every_service_is_there(pods: dict[str, Manifest]) -> None:
    images = {_image(container_of(pod)) for pod in pods.values()}
    assert images == {SERVICES[name]["image"] for name in OURS}


def test_every_command_exists(pods: dict[str, Manifest]) -> None:
    for name, pod in pods.items():
        container = container_of(pod)
        image = _dockerfile(_image(container))
        command: click.Command = cli
        for word in container.get("args", image.command):
            if isinstance(command, click.Group):
                found = command.get_command(click.Context(command), word)
                assert found is not None, name
                command = found
        assert not isinstance(command, click.Group), name


def test_every_setting_exists_and_is_read(
    manifests: list[Manifest], pods: dict[str, Manifest], tmp_path: Path
) -> None:
    maps = of_kind("ConfigMap", manifests)
    for pod in pods.values():
        container = container_of(pod)
        (source,) = container["envFrom"]
        values = dict(maps[source["configMapRef"]["name"]]["data"])
        for variable in container.get("env", []):
            (tmp_path / variable["name"]).write_text("clickhouse://u:p@clickhouse:8123/benanza")
            values[variable["name"]] = str(tmp_path / variable["name"])
        found = settings.load(values)
        assert not found.unknown
        assert found.kafka


def test_a_secret_is_a_file_that_is_mounted(pods: dict[str, Manifest]) -> None:
    container = container_of(pods["analyzer"])
    (variable,) = container["env"]
    assert variable["name"] == "BENANZA_CLICKHOUSE_FILE"
    folder, _, key = variable["value"].rpartition("/")
    (mount,) = [each for each in container["volumeMounts"] if each["mountPath"] == folder]
    (volume,) = [v for v in pods["analyzer"]["spec"]["volumes"] if v["name"] == mount["name"]]
    said = re.search(r"create secret generic (\S+) (?:\\\s*)?--from-file=([\w-]+)=", TEXT)
    assert said
    assert said.groups() == (volume["secret"]["secretName"], key)


def test_no_pod_has_more_rights_than_it_needs(pods: dict[str, Manifest]) -> None:
    for name, pod in pods.items():
        spec, container = pod["spec"], container_of(pod)
        image = _dockerfile(_image(container))
        assert spec["securityContext"]["runAsNonRoot"], name
        assert str(spec["securityContext"]["runAsUser"]) == image.last("USER"), name
        assert spec["automountServiceAccountToken"] is False, name
        assert spec["enableServiceLinks"] is False, name
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }, name


def test_a_pod_can_write_where_it_has_to(pods: dict[str, Manifest]) -> None:
    for name, pod in pods.items():
        container = container_of(pod)
        volumes = {volume["name"] for volume in pod["spec"]["volumes"] if "emptyDir" in volume}
        paths = {m["mountPath"] for m in container["volumeMounts"] if m["name"] in volumes}
        image = _dockerfile(_image(container))
        assert paths == {"/tmp", image.environment["BENANZA_DATA"]}, name


def test_memory_and_processors_are_limited_everywhere(pods: dict[str, Manifest]) -> None:
    for name, pod in pods.items():
        assert {"cpu", "memory"} <= set(container_of(pod)["resources"]["limits"]), name


def test_what_reads_a_model_has_the_memory_that_it_may_take(pods: dict[str, Manifest]) -> None:
    limit = container_of(pods["ingest"])["resources"]["limits"]["memory"]
    assert int(limit.removesuffix("Gi")) * 2**30 >= MEMORY_BYTES + BESIDE_BYTES


def test_models_come_from_nowhere_until_the_site_says_so(manifests: list[Manifest]) -> None:
    (shared,) = of_kind("ConfigMap", manifests).values()
    assert shared["data"]["BENANZA_MODEL_SOURCES"] == ""
    assert settings.load(shared["data"]).model_sources == ()


def test_what_measures_can_have_cores_of_its_own(pods: dict[str, Manifest]) -> None:
    """Kubernetes gives them to whole numbers that are requested and the limit."""
    runners = [name for name in pods if name.startswith("runner")]
    assert len(runners) >= 3
    for name in runners:
        resources = container_of(pods[name])["resources"]
        for each in ("cpu", "memory"):
            assert resources["requests"][each] == resources["limits"][each], name
        assert str(resources["limits"]["cpu"]).isdecimal(), name


def test_a_service_is_asked_how_it_is_and_ends_by_itself(
    manifests: list[Manifest], deployments: dict[str, Manifest]
) -> None:
    (shared,) = of_kind("ConfigMap", manifests).values()
    for name, deployment in deployments.items():
        pod = deployment["spec"]["template"]
        container = container_of(pod)
        probes = [container[f"{probe}Probe"] for probe in ("startup", "liveness", "readiness")]
        asked = [probe["httpGet"]["path"] for probe in probes]
        assert asked == ["/healthz", "/healthz", "/readyz"], name
        (port,) = container["ports"]
        assert {probe["httpGet"]["port"] for probe in probes} == {port["name"]}
        image = _dockerfile(_image(container))
        assert str(port["containerPort"]) == image.environment["BENANZA_METRICS_PORT"]
        drain = float(shared["data"]["BENANZA_DRAIN_TIMEOUT_S"])
        assert pod["spec"]["terminationGracePeriodSeconds"] >= drain + 10


def test_two_versions_of_the_analyzer_never_run_at_once(deployments: dict[str, Manifest]) -> None:
    assert deployments["analyzer"]["spec"]["strategy"] == {"type": "Recreate"}
    for name, deployment in deployments.items():
        if name != "analyzer":  # a GPU that is taken is not free for the next version
            assert deployment["spec"]["strategy"]["rollingUpdate"]["maxSurge"] == 0, name


def test_no_two_deployments_claim_a_pod(deployments: dict[str, Manifest]) -> None:
    selectors = {n: each["spec"]["selector"]["matchLabels"] for n, each in deployments.items()}
    for name, deployment in deployments.items():
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert selectors[name].items() <= labels.items(), name
    for one, other in combinations(selectors, 2):
        labels = deployments[other]["spec"]["template"]["metadata"]["labels"]
        assert not selectors[one].items() <= labels.items(), (one, other)


def test_each_kind_of_gpu_has_a_deployment_of_its_own(deployments: dict[str, Manifest]) -> None:
    kinds = [folder.name for folder in FOLDER.joinpath("gpu").iterdir() if folder.name != "runner"]
    assert len(kinds) >= 2
    products = set()
    for kind in kinds:
        pod = deployments[f"runner-{kind}"]["spec"]["template"]
        assert container_of(pod)["resources"]["limits"]["nvidia.com/gpu"] == 1
        assert container_of(pod)["args"] == ["serve", "runner", "--runtime", "cuda"]
        (label,) = pod["spec"]["nodeSelector"]
        assert label == "nvidia.com/gpu.product"
        assert kind.upper() in pod["spec"]["nodeSelector"][label]
        products.add(pod["spec"]["nodeSelector"][label])
    assert len(products) == len(kinds)


def test_prometheus_finds_every_copy(
    manifests: list[Manifest], deployments: dict[str, Manifest]
) -> None:
    """By the names that deploy/prometheus/prometheus.yml asks for."""
    asked = yaml.safe_load((ROOT / "deploy/prometheus/prometheus.yml").read_text("utf-8"))
    jobs = {job["job_name"] for job in asked["scrape_configs"]} - {"clickhouse"}
    services = of_kind("Service", manifests)
    assert set(services) == jobs
    for name, service in services.items():
        assert service["spec"]["clusterIP"] == "None"
        chosen = [
            n
            for n, each in deployments.items()
            if service["spec"]["selector"].items()
            <= each["spec"]["template"]["metadata"]["labels"].items()
        ]
        assert chosen, name


def test_all_is_in_one_namespace(manifests: list[Manifest]) -> None:
    (namespace,) = of_kind("Namespace", manifests)
    for manifest in manifests:
        if manifest["kind"] != "Namespace":
            assert manifest["metadata"]["namespace"] == namespace


def test_the_overlay_of_the_document_changes_what_it_says(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    shutil.copytree(FOLDER, tmp_path / "benanza")
    site = tmp_path / "site"
    site.mkdir()
    (site / "kustomization.yaml").write_text(text)
    overlay = yaml.safe_load(text)
    found = of_kind("Deployment", rendered(site))
    for replicas in overlay["replicas"]:
        assert found[replicas["name"]]["spec"]["replicas"] == replicas["count"]
    images = {container_of(each["spec"]["template"])["image"] for each in found.values()}
    assert images == {f"{each['newName']}:{each['newTag']}" for each in overlay["images"]}
    (shared,) = of_kind("ConfigMap", rendered(site)).values()
    assert shared["data"]["BENANZA_KAFKA"] == "broker-1.example:9092"
    (source,) = settings.load(shared["data"]).model_sources
    assert str(source) == "https://zoo.example"
