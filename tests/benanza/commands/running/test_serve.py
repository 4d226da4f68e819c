"""`benanza serve`: what it needs, and what it says."""

import socket

import pytest
from click.testing import CliRunner

from benanza.cli import cli

SERVICES = ("ingest", "dedupe", "runner", "analyzer")


@pytest.mark.parametrize("service", SERVICES)
def test_without_kafka_there_is_no_service(service: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    result = CliRunner().invoke(cli, ["serve", service])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert "BENANZA_KAFKA" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_variable_that_is_no_setting_is_in_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    monkeypatch.setenv("BENANZA_METRIC_PORT", "7")
    result = CliRunner().invoke(cli, ["serve", "ingest"])
    assert "BENANZA_METRIC_PORT is no setting: did you mean BENANZA_METRICS_PORT?" in result.stderr


def test_there_are_these_services() -> None:
    result = CliRunner().invoke(cli, ["serve", "studio"])
    assert result.exit_code == 2
    assert "No such command 'studio'" in result.stderr
    text = CliRunner().invoke(cli, ["serve", "--help"]).stdout
    assert all(f"\n  {service} " in text for service in SERVICES)


def test_a_port_that_is_taken_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setenv("BENANZA_KAFKA", "127.0.0.1:9")
        monkeypatch.setenv("BENANZA_METRICS_PORT", str(port))
        result = CliRunner().invoke(cli, ["serve", "analyzer"])
    assert result.exit_code == 1
    assert f"can't listen on port {port}" in result.stderr


def test_only_a_runner_has_precisions() -> None:
    result = CliRunner().invoke(cli, ["serve", "analyzer", "--precision", "fp32"])
    assert result.exit_code == 2
    result = CliRunner().invoke(cli, ["serve", "runner", "--precision", "fp8"])
    assert result.exit_code == 2
    assert "fp8" in result.stderr
