"""The dashboards, and their queries with what Grafana fills in."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from benanza_backbone.clickhouse.store import Store
from tests.deploy.compose import ROOT

FOLDER = ROOT / "deploy" / "grafana"
DASHBOARDS: dict[str, dict[str, Any]] = {
    file.stem: json.loads(file.read_text("utf-8")) for file in FOLDER.glob("dashboards/*.json")
}
ALL_PANELS: dict[str, dict[str, Any]] = {
    f"{name}: {panel['title']}": panel
    for name, dashboard in DASHBOARDS.items()
    for panel in dashboard["panels"]
    if panel["type"] != "row"
}


class PanelQuery(NamedTuple):
    """What a panel asks, in PromQL or SQL. `name` is that of the panel."""

    name: str
    text: str


def promql(interval: str = "1m") -> Iterator[PanelQuery]:
    """Every query to Prometheus, of all services, with rates over the interval."""
    for name, panel in ALL_PANELS.items():
        for target in panel["targets"]:
            if "expr" in target:
                yield PanelQuery(name, promql_of(target["expr"], interval))


def promql_of(text: str, interval: str = "1m") -> str:
    """The PromQL with what Grafana fills in: all values of the variables."""
    return re.sub(r"\$(job|kind|gpu)\b", ".*", text.replace("$__rate_interval", interval))


def sql() -> Iterator[PanelQuery]:
    """Every query to ClickHouse, to be filled in."""
    for name, panel in ALL_PANELS.items():
        for target in panel["targets"]:
            if "rawSql" in target:
                yield PanelQuery(name, target["rawSql"])


def filled_in(text: str, store: Store) -> str:
    """The SQL with what Grafana fills in: all values of the variables, and all of time."""
    for variable in DASHBOARDS["models"]["templating"]["list"]:
        values = [value for value, _ in choices(variable, store)]
        assert values, variable["name"]
        if not variable["multi"]:
            values = [variable["current"]["value"]]
        # What stands for all is filled in as it is, without quotes.
        chosen = variable.get("allValue") or sqlstring(values)
        text = text.replace(f"${{{variable['name']}:sqlstring}}", chosen)
    for column in ("computed_at", "measured_at"):
        since, until = f"{column} >= toDateTime(0)", f"{column} <= toDateTime(4102444800)"
        text = text.replace(f"$__timeFilter({column})", f"({since} AND {until})")
    assert "$" not in text
    return text


def choices(variable: dict[str, Any], store: Store) -> list[tuple[str, str]]:
    """Value and text of each choice. Of two columns, the data source takes the first as value."""
    rows = [list(row.values()) for row in store.query(variable["definition"])]
    return [(row[0], row[-1]) for row in rows]


def sqlstring(values: list[str]) -> str:
    """As Grafana's format of this name: it doubles `'`, and leaves a backslash as it is."""
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)
