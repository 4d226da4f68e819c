"""The table of services names code that is there, and what its steps and processes read."""

import inspect
from contextlib import nullcontext
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import pytest
from click.testing import CliRunner

from benanza.agents.serving.step import At
from benanza.cli import cli
from benanza.services import SERVICES
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_ingest.limits import Limits
from tests.benanza.agents.samples import agent, announced, system
from tests.runner.fake_runtime import FakeRuntime
from tests.steps import clock


@pytest.mark.parametrize("service", SERVICES)
def test_the_parts_of_a_service_are_there(service: str) -> None:
    parts = SERVICES[service]
    for part in (parts.core, parts.step):
        assert callable(resolve_name(part))
    settings, started, *_ = inspect.signature(resolve_name(parts.serve)).parameters
    assert (settings, started) == ("settings", "started")
    help_of_process = CliRunner().invoke(cli, ["serve", parts.process, "--help"])
    assert help_of_process.exit_code == 0, help_of_process.output


@pytest.mark.integration
@pytest.mark.parametrize("service", SERVICES)
def test_a_step_reads_as_the_table_says(service: str, tmp_path: Path) -> None:
    name, *topics = SERVICES[service].group
    joined: list[tuple[str, list[tuple[str, ...]]]] = []

    class Watched(SqliteEventLog):
        def consumer(self, group: str, topics: Any, whole: Any = ()) -> Any:
            joined.append((group, [tuple(topics), tuple(whole)]))
            return super().consumer(group, topics, whole)

    make = resolve_name(SERVICES[service].step)
    with (
        Watched(tmp_path / "events.sqlite") as log,
        Store.open(f"chdb://{tmp_path}/store") as store,
    ):
        given = {
            "log": log,
            "store": store,
            "limits": Limits(),
            "runtime": FakeRuntime(),
            "precision": "fp32",
            "clock": clock,
            "agent": agent("a", system()),
            "announced": lambda: announced("a", system()),
            "at": At(nullcontext()),
        }
        wanted = inspect.signature(make).parameters.values()
        with make(*(given[each.name] for each in wanted if each.default is each.empty)):
            ((group, read),) = joined
    assert group == name or group.startswith(f"{name}.")
    assert read == topics
