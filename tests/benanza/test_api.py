"""The Python API: the words of the command line, and the same documents."""

import json
import subprocess
from pathlib import Path

import pytest

import benanza
from tests.benanza.conftest import Benanza


def test_inspect_gives_typed_layers() -> None:
    found = benanza.inspect("zoo:squeezenet", batch=2)
    assert found.batch == 2
    assert found.layers[0].op == "Conv"
    assert found.layers[0].outputs == ((2, 64, 111, 111),)
    assert found.to_dict()["layers"][0]["outputs"] == [[2, 64, 111, 111]]


def test_inspect_is_the_command(benanza: Benanza) -> None:
    import benanza as api

    document = json.loads(benanza("inspect", "zoo:shufflenet", "--format", "json").stdout)
    assert api.inspect("zoo:shufflenet").to_dict() == document


def test_a_notebook_shows_a_table() -> None:
    page = benanza.inspect("zoo:alexnet")._repr_html_()
    assert "<td" in page
    assert "LRN" in page
    assert "24 layers" in page


def test_a_path_may_be_a_path(tmp_path: Path) -> None:
    with pytest.raises(benanza.BenanzaError, match="there is no file"):
        benanza.inspect(tmp_path / "missing.onnx")


def test_dims_are_bound_or_refused() -> None:
    with pytest.raises(benanza.BenanzaError, match="no open dimension 'length'"):
        benanza.inspect("zoo:alexnet", dims={"length": 3})


def test_lower_bound_is_the_command(
    first_run: tuple[Path, "subprocess.CompletedProcess[str]"], data: Path
) -> None:
    found = benanza.lower_bound("zoo:squeezenet", data=data)
    document = json.loads(first_run[1].stdout)
    assert found.to_dict()["bounds"] == document["bounds"]
    assert found.layers.benchmarked == 0
    assert "squeezenet" in found._repr_html_()
    (bound,) = found.bounds
    assert bound.parallel_us is not None
    assert bound.sequential_us is not None
    assert bound.parallel_us <= bound.sequential_us


def test_lower_bound_takes_several_of_everything(data: Path) -> None:
    models = ["zoo:squeezenet", "zoo:squeezenet"]
    found = benanza.lower_bound(
        models, batch=[1], precision=["fp32"], accounting="paper", fusion=False, data=data
    )
    (bound,) = found.bounds
    assert (bound.precision, bound.accounting, bound.partial) == ("fp32", "paper", False)


def test_lower_bound_refuses_several_precisions_if_one_is_not_to_be_had(data: Path) -> None:
    with pytest.raises(benanza.BenanzaError, match="tf32 can't be measured here"):
        benanza.lower_bound("zoo:squeezenet", precision=["fp32", "tf32"], data=data)


def test_lower_bound_raises_for_a_model_that_has_none(data: Path) -> None:
    with pytest.raises(benanza.BenanzaError, match=r"there is no file missing\.onnx"):
        benanza.lower_bound(["zoo:squeezenet", "missing.onnx"], data=data)


@pytest.mark.parametrize(
    ("name", "model", "shown"),
    [
        ("bounds", (), "squeezenet"),
        ("bounds", ("zoo:squeezenet",), "squeezenet"),
        ("history", ("zoo:squeezenet",), "the first run"),
        ("layers", (), "Conv+Relu"),
        ("layers", ("squeezenet",), "Conv+Relu"),
        ("status", (), "1 model ingested"),
    ],
)
def test_what_is_known_is_what_the_commands_say(
    benanza: Benanza, data: Path, name: str, model: tuple[str, ...], shown: str
) -> None:
    import benanza as api

    done = benanza(name, *model, "--data", data, "--format", "json")
    found = getattr(api, name)(*model, data=data)
    assert found.to_dict() == json.loads(done.stdout)
    assert shown in found._repr_html_()


def test_explain_is_the_command(benanza: Benanza, data: Path) -> None:
    import benanza as api

    done = benanza("explain", "zoo:squeezenet", "--data", data, "--format", "json")
    found = api.explain("zoo:squeezenet", data=data)
    assert found.to_dict() == json.loads(done.stdout)
    assert "squeezenet, batch 1: " in found._repr_html_()


def test_what_if_is_the_command(benanza: Benanza, data: Path) -> None:
    import benanza as api

    done = benanza("what-if", "zoo:squeezenet", "--data", data, "--format", "json")
    found = api.what_if("zoo:squeezenet", data=data)
    assert found.to_dict() == json.loads(done.stdout)
    assert "without fusion" in found._repr_html_()


@pytest.mark.usefixtures("short_profiles")
def test_profile_finds_what_the_command_finds(benanza: Benanza, data: Path) -> None:
    import benanza as api

    done = benanza("profile", "zoo:squeezenet", "--data", data, "--format", "json")
    (of_command,) = json.loads(done.stdout)["profiles"]
    found = api.profile("zoo:squeezenet", data=data)
    (of_api,) = found.profiles
    assert of_api.bound_us == of_command["bound_us"]
    assert [call.op for call in of_api.calls] == [call["op"] for call in of_command["calls"]]
    assert "slower call" in found._repr_html_()
    (advised,) = api.advise("squeezenet", data=data).models
    assert advised.profile.us == of_api.us
    assert sum(each.saved_us for each in advised.advice if each.source == "profile") > 0


def test_a_gate_has_a_limit() -> None:
    with pytest.raises(benanza.BenanzaError, match="give max_ratio, no_slower_than, or both"):
        benanza.gate("zoo:squeezenet")


def test_profile_raises_for_a_model_that_can_t_be_read(data: Path) -> None:
    with pytest.raises(benanza.BenanzaError, match=r"there is no file missing\.onnx"):
        benanza.profile("missing.onnx", data=data)
