"""`benanza advise`: what each remedy is worth."""

import json
from pathlib import Path

import pytest

from tests.benanza.conftest import Benanza


@pytest.mark.usefixtures("short_profiles")
def test_it_ranks_remedies_for_what_was_profiled(benanza: Benanza, data: Path) -> None:
    run = benanza("profile", "zoo:squeezenet", "--all-configurations", "--data", data)
    assert run.returncode == 0
    done = benanza("advise", "zoo:squeezenet", "--data", data)
    assert (done.returncode, done.stderr) == (0, "")
    assert "graph_optimization_level = ORT_ENABLE_ALL" in done.stdout
    document = benanza("advise", "squeezenet", "--data", data, "--format", "json")
    models = json.loads(document.stdout)["models"]
    by_configuration = {each["profile"]["configuration"]: each["advice"] for each in models}
    assert set(by_configuration) == {
        *("default options", "extended optimisations"),
        *("basic optimisations", "no optimisations"),
    }
    for advice in by_configuration.values():
        saved = [each["saved_us"] for each in advice]
        assert saved == sorted(saved, reverse=True)
    (better,) = (
        each
        for each in by_configuration["no optimisations"]
        if each["source"] == "other configuration"
    )
    assert better["seen_us"] is not None


def test_without_a_profile_it_says_how_to_get_one(benanza: Benanza, data: Path) -> None:
    done = benanza("advise", "zoo:squeezenet", "--data", data)
    assert done.returncode == 1
    assert "say: benanza profile zoo:squeezenet" in done.stderr
