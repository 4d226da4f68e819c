"""`benanza questions`: a row for each model."""

import json
from pathlib import Path

from tests.benanza.conftest import Benanza


def test_on_a_cpu_without_a_framework_two_can_be_answered(benanza: Benanza, data: Path) -> None:
    done = benanza("questions", "zoo:squeezenet", "--data", data, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    (found,) = json.loads(done.stdout)["models"]
    assert found["parallel_us"] >= 0
    assert found["fusion_us"] is not None
    for unknown in ("framework_us", "algorithms_us", "tf32_us", "fp16_us"):
        assert found[unknown] is None
    text = benanza("questions", "squeezenet", "--data", data).stdout
    assert text.splitlines()[1].split()[0] == "squeezenet"
