"""deploy/helm: the chart renders to what deploy/kubernetes does, and to what that lacks."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_validate import validate

from benanza_backbone import settings
from tests.deploy.compose import OURS, ROOT
from tests.deploy.manifests import (
    CAN_RENDER,
    FOLDER,
    NEWEST,
    OLDEST,
    Manifest,
    container_of,
    objects_of,
    of_kind,
    rendered,
)
from tests.deploy.test_prometheus import RULES

CHART = ROOT / "deploy" / "helm" / "benanza"
PAGE = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")

BY_NAME = ("env", "ports", "tolerations", "volumeMounts", "volumes")
"""Lists of a pod whose order says nothing."""

KAFKA = {"settings": {"BENANZA_KAFKA": "kafka:9092"}}
MONITORED = {"serviceMonitors": {"enabled": True}, "prometheusRules": {"enabled": True}}

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("helm") is None, reason="no helm, to render the chart with"),
]


def chart(folder: Path, *values: dict[str, Any]) -> list[Manifest]:
    """The objects of a release with these values."""
    files = []
    for number, each in enumerate(values):
        file = folder / f"values-{number}.json"
        file.write_text(json.dumps(each))
        files += ["--values", str(file)]
    return objects_of(["helm", "template", "benanza"], CHART, "--kube-version", OLDEST, *files)


def gpus() -> dict[str, Any]:
    """The kinds that the manifests have, as values of the chart."""
    kinds = {}
    for path in FOLDER.glob("gpu/*/kustomization.yaml"):
        if products := re.findall(r"nvidia.com/gpu.product: ([^}]+)", path.read_text("utf-8")):
            kinds[path.parent.name] = {"product": products[0], "replicas": 1}
    return {"gpus": kinds}


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> list[Manifest]:
    return chart(tmp_path_factory.mktemp("values"), KAFKA, gpus(), MONITORED)


def comparable(manifest: Manifest) -> Manifest:
    """Without what is another way to say the same."""
    text = re.sub(r"\bbenanza-\w{10}\b", "benanza", json.dumps(manifest))  # of a ConfigMap's name
    found: Manifest = json.loads(text)
    found["metadata"].pop("namespace", None)
    found["metadata"]["name"] = re.sub(r"^topics-\d+$", "topics", found["metadata"]["name"])
    if found["kind"] == "Deployment":
        found["spec"].setdefault("replicas", 1)
    if found["kind"] == "ConfigMap":
        found["metadata"].pop("labels", None)
    template = found["spec"].get("template") if "spec" in found else None
    if template:
        template["metadata"].pop("annotations", None)
        for holder in (template["spec"], *template["spec"]["containers"]):
            for key in set(BY_NAME) & holder.keys():
                holder[key].sort(key=json.dumps)
    return found


@pytest.mark.skipif(not CAN_RENDER, reason="neither kubectl nor Go, to render the manifests with")
def test_it_renders_to_what_kustomize_does(manifests: list[Manifest]) -> None:
    kinds = ("Deployment", "Job", "Service", "ConfigMap")
    ours, theirs = (
        {
            (each["kind"], each["metadata"]["name"]): each
            for each in map(comparable, of)
            if each["kind"] in kinds
        }
        for of in (manifests, rendered())
    )
    assert ours == theirs


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_every_object_is_of_its_form(manifests: list[Manifest], version: str) -> None:
    assert {"PodDisruptionBudget", "NetworkPolicy"} <= {each["kind"] for each in manifests}
    for manifest in manifests:
        if not manifest["apiVersion"].startswith("monitoring.coreos.com/"):
            validate(manifest, version, strict=True)


def test_each_deployment_has_a_budget_of_its_own(manifests: list[Manifest]) -> None:
    budgets = of_kind("PodDisruptionBudget", manifests)
    deployments = of_kind("Deployment", manifests)
    assert budgets.keys() == deployments.keys()
    for name, budget in budgets.items():
        assert budget["spec"]["selector"] == deployments[name]["spec"]["selector"]


def reached(manifests: list[Manifest]) -> dict[str, set[int]]:
    """The ports that each service may reach, but for names."""
    ports: dict[str, set[int]] = {}
    for kind in ("Deployment", "Job"):
        for name, each in of_kind(kind, manifests).items():
            labels = each["spec"]["template"]["metadata"]["labels"]
            found = ports[name] = set()
            for policy in of_kind("NetworkPolicy", manifests).values():
                if chooses(policy["spec"]["podSelector"], labels):
                    assert "Egress" in policy["spec"]["policyTypes"]
                    rules = policy["spec"]["egress"]
                    found |= {port["port"] for rule in rules for port in rule["ports"]}
            assert found, f"no policy confines {name}"
            found.remove(53)
    return ports


def chooses(selector: Manifest, labels: dict[str, str]) -> bool:
    """Whether it chooses pods with these labels."""
    expressions = selector.get("matchExpressions", [])
    assert all(each["operator"] == "In" for each in expressions)
    return selector["matchLabels"].items() <= labels.items() and all(
        labels.get(each["key"]) in each["values"] for each in expressions
    )


def test_pods_reach_only_what_they_need(tmp_path: Path) -> None:
    fetching = {
        "settings": {
            "BENANZA_KAFKA": "one:9093,other:9094",
            "BENANZA_MODEL_SOURCES": "https://zoo.example,http://near:8080/a:1, http://other,s3://m",
            "AWS_ENDPOINT_URL": "http://minio:9000",
        },
        "networkPolicies": {"models": {"ports": [443, 8443]}},
    }
    found = reached(chart(tmp_path, fetching, gpus()))
    kafka = {9093, 9094}
    assert found.pop("analyzer") == kafka | {8123}
    models = {443, 8443, 8080, 80, 9000}
    assert found.pop("ingest") == found.pop("agent") == kafka | models
    assert set(found) == {"dedupe", "runner", "runner-h100", "runner-h200", "topics-1"}
    assert all(ports == kafka for ports in found.values())


def test_from_no_source_nothing_is_fetched(manifests: list[Manifest], tmp_path: Path) -> None:
    files = {"settings": {**KAFKA["settings"], "BENANZA_MODEL_SOURCES": "file:///models"}}
    for each in (manifests, chart(tmp_path, files)):
        assert reached(each)["ingest"] == {9092}


def test_all_pods_have_the_volumes_and_the_account_of_the_values(tmp_path: Path) -> None:
    mount = {"name": "authority", "mountPath": "/etc/kafka", "readOnly": True}
    volume = {"name": "authority", "secret": {"secretName": "kafka-authority"}}
    own = {"volumes": [volume], "volumeMounts": [mount], "serviceAccountName": "models"}
    # An empty setting stands for itself, too.
    settings = {"settings": {**KAFKA["settings"], "BENANZA_LOG_FORMAT": ""}}
    found = chart(tmp_path, settings, own)
    for each in (*of_kind("Deployment", found).values(), *of_kind("Job", found).values()):
        validate(each, OLDEST, strict=True)
        pod = each["spec"]["template"]["spec"]
        assert pod["serviceAccountName"] == "models"
        assert [name["name"] for name in pod["volumes"]].count("authority") == 1
        assert mount in pod["containers"][0]["volumeMounts"]
    (shared,) = of_kind("ConfigMap", found).values()
    assert shared["data"]["BENANZA_LOG_FORMAT"] == ""


def test_only_metrics_may_be_asked_for(manifests: list[Manifest]) -> None:
    incoming = [
        rule
        for policy in of_kind("NetworkPolicy", manifests).values()
        for rule in policy["spec"].get("ingress", [])
    ]
    (rule,) = incoming
    assert rule["ports"] == [{"protocol": "TCP", "port": "metrics"}]
    assert rule["from"] == [{"podSelector": {}}]


def test_a_monitor_finds_every_service_under_its_name(manifests: list[Manifest]) -> None:
    (monitor,) = of_kind("ServiceMonitor", manifests).values()
    label = monitor["spec"]["jobLabel"]
    (endpoint,) = monitor["spec"]["endpoints"]
    assert (endpoint["port"], endpoint["honorLabels"]) == ("metrics", True)
    services = of_kind("Service", manifests)
    assert set(services) == set(OURS)
    for name, service in services.items():
        labels = service["metadata"]["labels"]
        assert labels[label] == name
        assert chooses(monitor["spec"]["selector"], labels)
        assert [port["name"] for port in service["spec"]["ports"]] == ["metrics"]


def test_the_alerts_are_those_of_prometheus(tmp_path: Path) -> None:
    base = "https://git.example/benanza/blob/main/"
    runbooks = {"prometheusRules": {"enabled": True, "runbooks": base}}
    (rules,) = of_kind("PrometheusRule", chart(tmp_path, KAFKA, runbooks)).values()
    found = [rule for group in rules["spec"]["groups"] for rule in group["rules"]]
    for rule in found:
        address = rule["annotations"]["runbook_url"]
        rule["annotations"]["runbook_url"] = address.removeprefix(base)
        assert address.startswith(f"{base}docs/operating.md#")
    assert found == RULES


def test_what_is_not_asked_for_is_left_out(tmp_path: Path) -> None:
    off = {"podDisruptionBudgets": {"enabled": False}, "networkPolicies": {"enabled": False}}
    kinds = {each["kind"] for each in chart(tmp_path, KAFKA, off)}
    assert kinds == {"Deployment", "Job", "Service", "ConfigMap"}


def test_a_site_has_settings_images_and_sizes_of_its_own(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml title=values.yaml\n(.*?)```", PAGE, re.DOTALL)
    values = yaml.safe_load(text)
    found = chart(tmp_path, values)
    (shared,) = of_kind("ConfigMap", found).values()
    assert settings.load(shared["data"]).unknown == ()
    assert shared["data"].items() >= values["settings"].items()
    deployments = of_kind("Deployment", found)
    for name, own in values["services"].items():
        assert deployments[name]["spec"]["replicas"] == own["replicas"]
    for kind, gpu in values["gpus"].items():
        spec = deployments[f"runner-{kind}"]["spec"]
        assert spec["replicas"] == gpu["replicas"]
        product = spec["template"]["spec"]["nodeSelector"]["nvidia.com/gpu.product"]
        assert product == gpu["product"]
    for each in deployments.values():
        image = container_of(each["spec"]["template"])["image"]
        assert image.startswith(f"{values['registry']}benanza-")
        assert image.endswith(f":{values['tag']}")


def test_other_settings_start_the_pods_again(manifests: list[Manifest], tmp_path: Path) -> None:
    other = {"settings": {"BENANZA_KAFKA": "kafka:9092", "BENANZA_DRAIN_TIMEOUT_S": "20"}}
    templates = [
        of_kind("Deployment", each)["ingest"]["spec"]["template"]
        for each in (manifests, chart(tmp_path, other))
    ]
    assert templates[0]["metadata"]["annotations"] != templates[1]["metadata"]["annotations"]
    assert templates[0]["spec"] == templates[1]["spec"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "BENANZA_KAFKA"),
        ({"settings": {"BENANZA_KAFKA": "one:9092,other"}}, "BENANZA_KAFKA"),
        ({**KAFKA, "replicaCount": 2}, "replicaCount"),
        ({**KAFKA, "services": {"runer": {"replicas": 2}}}, "runer"),
        ({**KAFKA, "gpus": {"h200": {"replicas": 2}}}, "product"),
    ],
)
def test_values_that_are_wrong_are_named(values: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=said):
        chart(tmp_path, values)


def test_helm_finds_nothing_wrong() -> None:
    command = ["helm", "lint", "--strict", str(CHART), "--kube-version", OLDEST]
    kafka = ["--set", "settings.BENANZA_KAFKA=kafka:9092"]
    done = subprocess.run([*command, *kafka], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_its_version_is_that_of_the_images() -> None:
    said = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    images = yaml.safe_load((FOLDER / "kustomization.yaml").read_text("utf-8"))["images"]
    assert {said["version"], said["appVersion"]} == {each["newTag"] for each in images}
