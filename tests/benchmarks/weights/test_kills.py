"""A short sample of `python -m benchmarks.weights`, which kills the store and its tenants."""

import os
from pathlib import Path

import pytest
import urllib3

from benchmarks.weights.kills import EVENTS, kill_at_random
from benchmarks.weights.models import make_model
from benchmarks.weights.processes import StoreProcess, TenantProcess

pytestmark = pytest.mark.integration


def test_kills_leave_nothing_and_nothing_wrong(tmp_path: Path) -> None:
    outcome = kill_at_random(tmp_path, loads=6, seed=378, weights=1, models=4)
    assert outcome.wrong == []
    killed = {end.split(":")[0] for end in outcome.ends}
    assert killed == set(EVENTS)


def test_the_store_is_a_service_as_others(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    wanted = make_model(model, weights=1, seed=0)
    os.utime(model, (0, 0))
    with StoreProcess(tmp_path, "--memory", "100MB") as store:
        assert store.first_line == f"serving weights: {store.socket}, {store.page}"
        with TenantProcess("read", model, store.socket) as tenant:
            tenant.asks()
            assert tenant.ran()["sha256"] == wanted
            metrics = urllib3.request("GET", f"{store.page}/metrics").data.decode()
            assert "benanza_weights_leases 1.0" in metrics
            ready = urllib3.request("GET", f"{store.page}/readyz").json()
            assert ready["ok"]
            assert "1 leases" in ready["checks"][1]["detail"]
            assert store.stop() == 0
        assert not store.socket.exists()
