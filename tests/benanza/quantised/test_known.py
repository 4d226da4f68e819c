"""Models with quantised weights, from `benanza run` to what they are worth."""

import json
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner

import benanza
from benanza.cli import cli
from benanza.looking.explain import known_explanations
from benanza.quantised.known import known_quantisations
from benanza.request import BoundPolicy, RunRequest, derivations
from benanza.results.bounds import LowerBounds
from benanza.running.pipeline import run
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from tests.benanza.conftest import FirstRun
from tests.benanza.data_folder import settings_in
from tests.ingest.deriving.small_models import conv_net, mlp
from tests.shared import copied

pytestmark = pytest.mark.integration

NAMES = ("mlp", "mlp int8", "mlp int4", "conv", "conv int8", "conv int4")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("quantised")
    onnx.save(mlp().made("y"), path / "mlp.onnx")
    onnx.save(conv_net().made("y"), path / "conv.onnx")
    return path


@pytest.fixture(scope="module")
def settings(first_run: FirstRun, folder: Path) -> Settings:
    """Of a folder that has this system's ceilings."""
    return settings_in(copied(first_run[0], folder / "data"))


@pytest.fixture(scope="module", autouse=True)
def ran(folder: Path, settings: Settings) -> LowerBounds:
    models = (str(folder / "mlp.onnx"), str(folder / "conv.onnx"))
    asked = RunRequest(models, derivations=derivations(("int8", "int4"), ()))
    return run(asked, settings, is_quiet=lambda: False)


def test_the_model_and_what_becomes_of_it_have_a_bound_each(ran: LowerBounds) -> None:
    assert ran.errors == ()
    assert tuple(bound.model for bound in ran.bounds) == NAMES
    assert not any(bound.partial for bound in ran.bounds)
    assert len({bound.model_id for bound in ran.bounds}) == len(NAMES)


def test_no_call_of_a_quantised_model_is_in_a_bound_in_floats(settings: Settings) -> None:
    for name in ("mlp", "conv"):
        (found,) = known_explanations(settings, [name], BoundPolicy(), {}).explanations
        ops = {op for call in found.calls for op in call.op.split("+")}
        assert not any("Linear" in op or "NBits" in op for op in ops)
        (other,) = known_explanations(settings, [f"{name} int8"], BoundPolicy(), {}).explanations
        assert any("QuantizeLinear" in call.op for call in other.calls)


def test_a_file_stands_for_the_model_as_it_is_written(folder: Path, settings: Settings) -> None:
    explained = known_explanations(settings, [str(folder / "mlp.onnx")], BoundPolicy(), {})
    assert [each.bound.model for each in explained.explanations] == ["mlp"]


def test_sql_knows_what_is_derived(settings: Settings) -> None:
    query = "SELECT name, quantised, tensor_parallel FROM known_models ORDER BY name"
    with Store.open(settings.clickhouse) as store:
        rows = [tuple(row.values()) for row in store.query(query, {})]
    assert rows[:3] == [("conv", "", 1), ("conv int4", "int4", 1), ("conv int8", "int8", 1)]


def test_savings_add_up_to_the_difference_of_the_bounds(settings: Settings) -> None:
    for name in ("mlp", "conv"):
        worths = known_quantisations(settings, name, ("int8", "int4"), ("fp32",), {}).worths
        assert [worth.other.model for worth in worths] == [f"{name} int8", f"{name} int4"]
        for worth in worths:
            us, other_us = worth.bound.sequential_us, worth.other.sequential_us
            assert us is not None
            assert other_us is not None
            assert worth.saved_us == pytest.approx(us - other_us)
            assert worth.share == pytest.approx((us - other_us) / us)
            assert worth.elsewhere_us is not None
            whole = sum(product.saved_us for product in worth.products) + worth.elsewhere_us
            assert whole == pytest.approx(us - other_us)
    (int8, int4) = worths
    assert {product.layers for product in int4.products} == {("y",)}
    shapes = {product.layers: (product.data, product.weights) for product in int8.products}
    assert shapes[("y",)] == ((2, 32), (32, 5))
    assert all(product.us and product.quantised_us for product in int8.products)


def test_the_command_prints_rows_of_eighty_columns_at_most(folder: Path) -> None:
    command = ["what-if", "mlp", "--quantised", "int4,int8", "--data", str(folder / "data")]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert done.exit_code == 0
    lines = [line.rstrip() for line in done.output.splitlines()]
    rows = [line for line in lines if "3×64×96" in line or line.startswith("first product")]
    assert len(rows) == 4
    assert max(map(len, rows)) <= 80
    assert any(" as written, " in line and " in int4: " in line for line in lines)


def test_json_has_what_the_api_returns(folder: Path) -> None:
    data = folder / "data"
    command = ["what-if", "mlp", "--quantised", "int8", "--data", str(data), "--format", "json"]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    found = benanza.what_if_quantised("mlp", "int8", data=data)
    assert json.loads(done.output) == found.to_dict()


def test_the_api_finds_bounds_of_what_is_derived(folder: Path, ran: LowerBounds) -> None:
    model = folder / "mlp.onnx"
    found = benanza.lower_bound(model, quantised="int4", data=folder / "data")
    assert [bound.model for bound in found.bounds] == ["mlp", "mlp int4"]
    assert found.layers.benchmarked == 0
    assert found.bounds[1].model_id == ran.bounds[2].model_id
    inspected = benanza.inspect(model, quantised="int4")
    assert (inspected.name, inspected.model_id) == ("mlp int4", ran.bounds[2].model_id)


def test_what_is_not_known_yet_is_said_with_the_command_for_it(settings: Settings) -> None:
    both = known_quantisations(settings, "mlp", ("int8", "fp8"), ("fp32",), {})
    assert len(both.worths) == 1
    assert both.to_run == ("benanza run mlp --precision fp32 --batch 3 --quantised fp8",)
    with pytest.raises(BenanzaError, match=r"say: benanza run mlp .*--quantised fp8"):
        known_quantisations(settings, "mlp", ("fp8",), ("fp32",), {})


def test_a_quantised_model_is_not_quantised_again(settings: Settings) -> None:
    with pytest.raises(BenanzaError, match="mlp int4 is quantised already"):
        known_quantisations(settings, "mlp int4", ("int8",), ("fp32",), {})


def test_a_spec_finds_a_quantised_bound_again(folder: Path) -> None:
    data = ("--data", str(folder / "data"))
    spec = CliRunner().invoke(cli, ["spec", "mlp int4", *data], catch_exceptions=False)
    assert json.loads(spec.output)["model"]["quantised"] == "int4"
    file = folder / "spec.json"
    file.write_text(spec.output)
    command = ["run", "--spec", str(file), str(folder / "mlp.onnx"), *data]
    done = CliRunner().invoke(cli, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "mlp int4" in done.output


def test_what_cannot_be_derived_is_an_error_and_the_rest_goes_on(
    folder: Path, settings: Settings
) -> None:
    asked = RunRequest((str(folder / "conv.onnx"),), derivations=derivations((), (1, 1_000)))
    found = run(asked, settings, is_quiet=lambda: False)
    assert [bound.model for bound in found.bounds] == ["conv"]
    assert "split" in found.errors[0].reason
