"""The dashboards: every query is asked of the real thing, and finds something."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from benanza_backbone.clickhouse.store import Store
from benanza_runner.monitoring.gpu_collector import GpuCollector
from benanza_schemas.consumer_groups import ANALYZER, CONSUMER_GROUPS, INGEST, SINK
from benanza_schemas.events import identified
from benanza_schemas.topics import BOUNDS as BOUNDS_TOPIC
from benanza_schemas.topics import GRAPHS, MODELS
from tests.backbone.sample_events import (
    BOUNDS,
    CONV_MEASURED,
    DEAD,
    EVERY_KIND,
    MODEL,
    OTHER_SYSTEM,
    SYSTEM,
    SYSTEM_MEASURED,
    elsewhere,
)
from tests.deploy.compose import ROOT, SERVICES
from tests.deploy.dashboards import (
    ALL_PANELS,
    DASHBOARDS,
    FOLDER,
    choices,
    filled_in,
    promql,
    sql,
)
from tests.deploy.metrics import named, unknown

SOURCES = yaml.safe_load((FOLDER / "provisioning/datasources/datasources.yml").read_text("utf-8"))
PANELS = [pytest.param(panel, id=name) for name, panel in ALL_PANELS.items()]


PROMQL = [query.text for query in promql()]


def test_there_are_three() -> None:
    assert set(DASHBOARDS) == {"pipeline", "fleet", "models"}
    assert len({dashboard["uid"] for dashboard in DASHBOARDS.values()}) == 3


@pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=DASHBOARDS)
def test_each_leads_to_the_others(dashboard: dict[str, Any]) -> None:
    (link,) = dashboard["links"]
    assert (link["type"], link["keepTime"]) == ("dashboards", True)
    for other in DASHBOARDS.values():
        assert set(link["tags"]) <= set(other["tags"])


def test_the_objective_adds_up_what_lies_between_a_model_and_its_bound() -> None:
    """By the consumer groups: who reads models, who graphs, and who stores bounds."""
    (target,) = ALL_PANELS["pipeline: Publish to bound"]["targets"]
    legs = list(dict.fromkeys(re.findall(r'service="(\w+)", topic="(\w+)"', target["expr"])))
    assert legs == [(INGEST, MODELS), (ANALYZER, GRAPHS), (SINK, BOUNDS_TOPIC)]
    for service, topic in legs:
        assert topic in (*CONSUMER_GROUPS[service].topics, *CONSUMER_GROUPS[service].whole)


@pytest.mark.needs_program("promtool")
@pytest.mark.parametrize(
    ("counted", "seconds"),
    [
        # All had the models of before Prometheus' first look, and none since.
        ({INGEST: "5x4", ANALYZER: "5x4", SINK: "5x4"}, 0.15),
        # The sink's first one came a minute ago.
        ({INGEST: "0+1x4", ANALYZER: "7+1x4", SINK: "_x3 1x0"}, 0.15),
        ({INGEST: "5x4", ANALYZER: "5x4", SINK: "_x4"}, None),
    ],
)
def test_the_objective_is_shown_from_the_first_bound_on(
    tmp_path: Path, counted: dict[str, str], seconds: float | None
) -> None:
    (target,) = ALL_PANELS["pipeline: Publish to bound"]["targets"]
    topics = {INGEST: MODELS, ANALYZER: GRAPHS, SINK: BOUNDS_TOPIC}
    series = [
        {
            "series": f'benanza_record_age_seconds_bucket{{service="{service}", topic="{topic}", '
            f'le="{le}"}}',
            "values": counted[service],
        }
        for service, topic in topics.items()
        for le in ("0.1", "+Inf")
    ]
    samples = [] if seconds is None else [{"labels": "{}", "value": seconds}]
    asked = {"expr": f"round({target['expr']}, 0.001)", "eval_time": "4m", "exp_samples": samples}
    test = {"interval": "1m", "input_series": series, "promql_expr_test": [asked]}
    file = tmp_path / "test.yml"
    file.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [test]}))
    found = subprocess.run(
        ["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("panel", PANELS)
def test_a_panel_says_what_it_shows_and_asks_a_source_that_there_is(panel: dict[str, Any]) -> None:
    sources = {source["uid"]: source["type"] for source in SOURCES["datasources"]}
    assert panel["description"]
    assert panel["targets"]
    for asked in (panel, *panel["targets"]):
        assert sources[asked["datasource"]["uid"]] == asked["datasource"]["type"]


@pytest.mark.parametrize("dashboard", DASHBOARDS.values(), ids=DASHBOARDS)
def test_panels_do_not_overlap(dashboard: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells


@pytest.mark.parametrize("query", PROMQL)
def test_a_query_to_prometheus_names_metrics_that_are_there(query: str) -> None:
    assert named(query) or "ALERTS" in query
    assert not unknown(query)


@pytest.mark.needs_program("promtool")
def test_prometheus_can_read_the_queries(tmp_path: Path) -> None:
    rules = [{"record": f"panel:{i}", "expr": query} for i, query in enumerate(PROMQL)]
    file = tmp_path / "rules.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    found = subprocess.run(
        ["promtool", "check", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr


def test_every_metric_is_shown() -> None:
    """All that services count, time and read, but for what only Python's library adds."""
    from benanza_backbone import telemetry

    shown = " ".join(PROMQL)
    for metric in vars(telemetry).values():
        if hasattr(metric, "_labelnames"):
            assert metric.describe()[0].name in shown
    for family in GpuCollector(lambda: None).describe():
        assert family.name in shown


GPUS = tuple(
    identified(msgspec.structs.replace(SYSTEM, accelerator="Some GPU", driver=driver, cudnn=cudnn))
    for driver, cudnn in (("580", "9.18"), ("580", "9.19"), ("590", "9.19"))
)
"""Systems that differ in what was installed."""

CPUS = [f"{of.cpu}, {of.threads} threads" for of in (SYSTEM, OTHER_SYSTEM)]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store with a partial bound, and a whole one of a system that is called the same."""
    whole = msgspec.structs.replace(
        BOUNDS[-1], system_id=OTHER_SYSTEM.system_id, sequential_us=40.0, missing=()
    )
    fused = [msgspec.structs.replace(each, fusion=True) for each in (BOUNDS[-1], whole)]
    with Store.open(f"chdb://{tmp_path_factory.mktemp('store')}") as store:
        store.insert(EVERY_KIND)
        store.insert([msgspec.structs.replace(MODEL, name="resnet50")])
        store.insert([msgspec.structs.replace(SYSTEM_MEASURED, system=OTHER_SYSTEM)])
        store.insert([elsewhere(CONV_MEASURED), whole, *fused])
        store.insert([msgspec.structs.replace(SYSTEM_MEASURED, system=gpu) for gpu in GPUS])
        store.insert([msgspec.structs.replace(DEAD, event_id="0" * len(DEAD.event_id))])
        yield store


VARIABLES = {each["name"]: each for each in DASHBOARDS["models"]["templating"]["list"]}
SQL = [pytest.param(ALL_PANELS[query.name], query.text, id=query.name) for query in sql()]


@pytest.mark.parametrize(("panel", "sql"), SQL)
def test_a_query_to_the_store_finds_something(
    panel: dict[str, Any], sql: str, store: Store
) -> None:
    found = store.query(filled_in(sql, store))
    assert found
    if panel["type"] == "timeseries":
        # The form that the data source makes lines of: a time, and at least one number.
        assert found[0]["time"].year == 2026
        assert any(isinstance(value, float | int) for value in found[0].values())


def test_what_is_drawn_as_a_bound_lacks_no_layer(store: Store) -> None:
    panel = ALL_PANELS["models: Bound and speed of light"]
    found = store.query(filled_in(panel["targets"][0]["rawSql"], store))
    assert {row["sequential"] for row in found} == {40.0}


def test_a_layers_time_is_that_on_one_system(store: Store) -> None:
    panel = ALL_PANELS["models: Where the time goes"]
    found = store.query(filled_in(panel["targets"][0]["rawSql"], store))
    assert {row["system"] for row in found} == set(CPUS)
    times = [row["times"] for row in found if row["layer"] == "Conv"]
    assert times == [1, 1]


def test_a_models_layers_come_to_its_bound(store: Store) -> None:
    """Whatever the number of names that its file has."""
    panel = ALL_PANELS["models: Where the time goes"]
    found = store.query(filled_in(panel["targets"][0]["rawSql"], store))
    shares = sorted((row["total_us"], round(row["share"], 3)) for row in found)
    assert shares == [
        (5.0, round(5.0 / 15.25, 3)),
        (10.25, round(10.25 / 40.0, 3)),
        (10.25, round(10.25 / 15.25, 3)),
    ]


def test_systems_are_told_apart_by_what_is_installed(store: Store) -> None:
    assert [text for _, text in choices(VARIABLES["system"], store)] == [
        *CPUS,
        "Some GPU, driver 580, cuDNN 9.18",
        "Some GPU, driver 580, cuDNN 9.19",
        "Some GPU, driver 590, cuDNN 9.19",
    ]


@pytest.mark.parametrize(
    ("panel", "sql"), [each for each in SQL if "{model:" in str(each.values[1])]
)
def test_what_shows_chosen_models_heeds_all_that_is_chosen(panel: dict[str, Any], sql: str) -> None:
    for variable in DASHBOARDS["models"]["templating"]["list"]:
        assert f"${{{variable['name']}:sqlstring}}" in sql, panel["title"]


def test_units_stand_on_columns_that_are_there(store: Store) -> None:
    """An override by name that fits nothing would be silently without effect."""
    panel = ALL_PANELS["models: Lower bounds"]
    columns = store.query(filled_in(panel["targets"][0]["rawSql"], store))[0]
    matched = [override["matcher"] for override in panel["fieldConfig"]["overrides"]]
    assert {"id": "byName", "options": "covered"} in matched
    assert "covered" in columns
    assert 0 < columns["covered"] <= 1
    assert any(name.endswith("_us") for name in columns)


def test_what_grafana_is_given_is_where_it_looks() -> None:
    (providers,) = yaml.safe_load(
        (FOLDER / "provisioning/dashboards/dashboards.yml").read_text("utf-8")
    )["providers"]
    mounted = dict(volume.split(":")[:2] for volume in SERVICES["grafana"]["volumes"])
    assert mounted["./deploy/grafana/dashboards"] == providers["options"]["path"]
    assert mounted["./deploy/grafana/provisioning"] == "/etc/grafana/provisioning"
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    assert home == f"{providers['options']['path']}/pipeline.json"
    plugin = SERVICES["grafana"]["environment"]["GF_PLUGINS_PREINSTALL_SYNC"]
    assert plugin in [source["type"] for source in SOURCES["datasources"]]


def test_grafana_signs_in_as_one_who_only_reads() -> None:
    (clickhouse,) = (s for s in SOURCES["datasources"] if s["uid"] == "clickhouse")
    users = (ROOT / "deploy/clickhouse/reader.xml").read_text("utf-8")
    name = clickhouse["jsonData"]["username"]
    assert f"<{name}>" in users
    assert clickhouse["secureJsonData"]["password"].startswith("$__file{/run/secrets/")
