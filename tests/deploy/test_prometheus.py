"""deploy/prometheus: checked by Prometheus' own tools, and run."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from benanza_backbone.service.status_server import StatusServer
from benanza_backbone.telemetry import DEAD_LETTERS
from tests.deploy.compose import OURS, ROOT, SERVICES
from tests.deploy.image import Dockerfile
from tests.deploy.metrics import named, unknown
from tests.deploy.prometheus_server import ask, prometheus_over

FOLDER = ROOT / "deploy" / "prometheus"
CONFIG = yaml.safe_load((FOLDER / "prometheus.yml").read_text("utf-8"))
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]

needs_prometheus = pytest.mark.needs_program("promtool", "prometheus")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_names_metrics_that_are_there(rule: dict[str, Any]) -> None:
    assert named(rule["expr"])
    assert not unknown(rule["expr"])
    assert set(rule["annotations"]) == {"summary", "description"}


def test_a_metric_that_is_not_there_is_seen() -> None:
    assert unknown("rate(benanza_jobs[5m]) / benanza_jobs_total{kind='x', job='runner'}") == [
        "benanza_jobs",
        "benanza_jobs_total{kind}",
    ]


def test_every_alert_is_tested() -> None:
    text = (FOLDER / "alerts_test.yml").read_text("utf-8")
    for rule in RULES:
        assert text.count(rule["alert"]) >= 1, rule["alert"]


def test_every_service_is_scraped_where_it_listens() -> None:
    scraped = {job["job_name"]: job["dns_sd_configs"] for job in CONFIG["scrape_configs"]}
    (clickhouse,) = scraped.pop("clickhouse")
    settings = ElementTree.parse(ROOT / "deploy" / "clickhouse" / "metrics.xml")
    assert str(clickhouse["port"]) == settings.findtext("prometheus/port")
    assert any("metrics.xml" in volume for volume in SERVICES["clickhouse"]["volumes"])
    assert set(scraped) == set(OURS)
    for name, (found,) in scraped.items():
        assert found["names"] == [name]
        file = ROOT / SERVICES[name]["build"]["dockerfile"]
        assert str(found["port"]) == Dockerfile(file).last("EXPOSE")


@pytest.mark.integration
@needs_prometheus
@pytest.mark.parametrize(
    "command",
    [
        ("check", "config", "--syntax-only", "prometheus.yml"),
        ("check", "rules", "alerts.yml"),
        ("test", "rules", "alerts_test.yml"),
    ],
    ids=" ".join,
)
def test_promtool_finds_nothing_wrong(command: tuple[str, ...]) -> None:
    found = subprocess.run(
        ["promtool", *command], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """The address of a Prometheus that scrapes this process as the service ingest."""
    with StatusServer(0, lambda: ()) as status:
        target = status.address.removeprefix("http://")
        # The alerts as they are; what is scraped, how often, and how long one waits is other.
        rules = (FOLDER / "alerts.yml").read_text("utf-8")
        (tmp_path / "alerts.yml").write_text(rules)
        config = {
            "global": {
                "scrape_interval": "1s",
                "scrape_timeout": "1s",
                "evaluation_interval": "1s",
            },
            "rule_files": ["alerts.yml"],
            "scrape_configs": [{"job_name": "ingest", "static_configs": [{"targets": [target]}]}],
        }
        with prometheus_over(tmp_path, config) as address:
            yield address


@pytest.mark.integration
@needs_prometheus
def test_prometheus_scrapes_a_service_and_raises_an_alert(prometheus: str) -> None:
    DEAD_LETTERS.labels("models", "ModelError").inc()
    deadline = time.monotonic() + 30
    raised: set[str] = set()
    while "BenanzaDeadLetters" not in raised:
        assert time.monotonic() < deadline, raised
        time.sleep(0.2)
        alerts = (ask(prometheus, "alerts") or {"alerts": []})["alerts"]
        raised = {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}
    (build,) = ask(prometheus, "query", query="benanza_build_info")["result"]
    assert build["metric"]["job"] == "ingest"
