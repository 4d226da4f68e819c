"""deploy/prometheus: checked by Prometheus' own tools. tests/docs/walk runs it."""

import re
import subprocess
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.deploy.compose import OURS, ROOT, SERVICES
from tests.deploy.image import Dockerfile
from tests.deploy.metrics import named, unknown

FOLDER = ROOT / "deploy" / "prometheus"
CONFIG = yaml.safe_load((FOLDER / "prometheus.yml").read_text("utf-8"))
RULES: list[dict[str, Any]] = [
    rule
    for group in yaml.safe_load((FOLDER / "alerts.yml").read_text("utf-8"))["groups"]
    for rule in group["rules"]
]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_names_metrics_that_are_there(rule: dict[str, Any]) -> None:
    assert named(rule["expr"])
    assert not unknown(rule["expr"])
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: str(rule["alert"]))
def test_an_alert_leads_to_what_to_do_about_it(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    sections = re.split(r"^#+ (.+)$", (ROOT / page).read_text("utf-8"), flags=re.MULTILINE)
    titles, texts = sections[1::2], sections[2::2]
    found = {title.lower(): text for title, text in zip(titles, texts, strict=True)}
    assert anchor == rule["alert"].lower()
    assert re.findall(r"^- \*\*(.+?)\.\*\* \S", found[anchor], re.MULTILINE) == [
        "Symptom",
        "Cause",
        "What to do",
    ]


def test_nothing_is_said_of_an_alert_that_is_not_there() -> None:
    page = (ROOT / "docs" / "operating.md").read_text("utf-8")
    said = re.findall(r"^### (Benanza\w+)$", page, re.MULTILINE)
    assert sorted(said) == sorted(rule["alert"] for rule in RULES)


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


def test_without_docker_each_service_is_scraped_where_the_page_starts_it() -> None:
    config = yaml.safe_load((FOLDER / "without-docker.yml").read_text("utf-8"))
    assert {key: config[key] for key in ("global", "rule_files")} == {
        key: CONFIG[key] for key in ("global", "rule_files")
    }
    page = (ROOT / "docs" / "without-docker.md").read_text("utf-8")
    started = re.findall(r"^BENANZA_METRICS_PORT=(\d+) (?:.* )?benanza serve (\w+)", page, re.M)
    scraped = [
        (target.rpartition(":")[2], job["job_name"])
        for job in config["scrape_configs"]
        for found in job["static_configs"]
        for target in found["targets"]
    ]
    assert set(scraped) == set(started)


@pytest.mark.integration
@pytest.mark.needs_program("promtool")
@pytest.mark.parametrize(
    "command",
    [
        ("check", "config", "--syntax-only", "prometheus.yml"),
        ("check", "config", "without-docker.yml"),
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
