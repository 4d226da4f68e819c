"""Prometheus, and the dashboards' questions to it and to ClickHouse."""

import json
import math
import time
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from benanza_backbone.clickhouse.store import Store
from tests.deploy.dashboards import filled_in, promql, sql
from tests.docs.blocks import block
from tests.docs.walk.clone import FreshClone
from tests.docs.walk.services import PAGE, SERVICES
from tests.docs.walk.shell import Shell

NOT_HERE = ("pipeline: GPU busy", "pipeline: Evaluations done", "pipeline: Disk", "fleet: ")
"""How the names of panels begin that have nothing to show on a CPU, or of what only Compose's
Prometheus scrapes. tests/deploy/test_fleet.py asks those of the fleet.
"""

PATIENCE_S = 60.0
AGAIN_S = 5.0
LAST_S = 600.0


def start(clone: FreshClone, shell: Shell) -> None:
    """While the services work: some panels show what is in work."""
    shell.run(clone.here(block(PAGE, "prometheus ")))


def check_pipeline(clone: FreshClone, shell: Shell) -> None:
    """Each panel has data of the last minutes; that of the alerts too, as a dead letter is open.

    What a service did before Prometheus looked at it is in no rate; so the model is published
    again.
    """
    deadline = time.monotonic() + PATIENCE_S
    asked = [query for query in promql("1m") if not query.name.startswith(NOT_HERE)]
    while empty := {query.name for query in asked if not _ask(clone, query.text)}:
        assert time.monotonic() < deadline, empty
        shell.run("benanza publish zoo:squeezenet")
        time.sleep(AGAIN_S)
    assert {each["metric"]["job"] for each in _ask(clone, "up == 1")} == set(SERVICES)
    (alert,) = _ask(clone, 'ALERTS{alertstate="firing"}')
    assert alert["metric"]["alertname"] == "BenanzaDeadLetters"


def check_models(store: Store) -> None:
    """Each panel has data from the store, but for evaluations, which no agent here has done, and
    for dead letters, once the one that there was is replayed.
    """
    asked = [query for query in sql() if "valuation" not in query.text]
    empty = {query.name for query in asked if not store.query(filled_in(query.text, store))}
    assert empty <= {"pipeline: Open dead letters by reason"}


def _ask(clone: FreshClone, query: str) -> list[Any]:
    """The series that had a value, which is a number, in the last minutes."""
    now = time.time()
    asked = urlencode({"query": query, "start": now - LAST_S, "end": now, "step": 1})
    address = f"http://127.0.0.1:{clone.ports[9090]}/api/v1/query_range?{asked}"
    with urlopen(address, timeout=10) as answer:
        series = json.load(answer)["data"]["result"]
    return [s for s in series if not all(math.isnan(float(value)) for _, value in s["values"])]
