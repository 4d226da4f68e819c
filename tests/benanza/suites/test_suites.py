"""A suite goes out, runs with NumPy and ONNX Runtime alone, and its times come back."""

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from statistics import median

import onnx
import pytest

from benanza.installation.embedded import opened_log
from benanza.suites.export_suite import export_suite
from benanza.suites.import_results import import_results
from benanza.suites.latencies import constructed_latencies
from benanza.suites.results import SuiteWritten
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_schemas.topics import RESULTS
from tests.benanza.data_folder import settings_in
from tests.ingest.onnx_text import content

TEXT = """
g (float[1, 8, 16, 16] secret_input, float[8, 8, 3, 3] secret_weight)
  => (float[1, 8, 16, 16] secret_result)
  <float[8, 8, 3, 3] secret_weight> {
    [secret_conv] a = Conv <pads = [1, 1, 1, 1]> (secret_input, secret_weight)
    b = Relu(a)
    c = Conv <pads = [1, 1, 1, 1]> (b, secret_weight)
    d = Relu(c)
    e = Sigmoid(d)
    secret_result = Mul(e, d)
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "secret_name.onnx"
    file.write_bytes(content(TEXT))
    return file


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path / "data")


def exported(
    model: Path, file: Path, *, granularity: int = 2, dummies: int = 0, seed: int = 0
) -> SuiteWritten:
    return export_suite(file, [str(model)], granularity, None, {}, dummies, seed, Limits())


def run(suite: Path, results: Path) -> None:
    """In a process that can import nothing of this project."""
    with zipfile.ZipFile(suite) as archive:
        (script := suite.with_name("run.py")).write_bytes(archive.read("run.py"))
    block = (
        "import sys, runpy\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0].startswith(('benanza', 'onnx_', 'msgspec')):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
        f"sys.argv = ['run.py', {str(suite)!r}, {str(results)!r}]\n"
        f"runpy.run_path({str(script)!r}, run_name='__main__')\n"
    )
    subprocess.run([sys.executable, "-I", "-c", block], check=True)


@pytest.mark.integration
def test_a_suite_that_ran_elsewhere_gives_the_models_latency(
    model: Path, settings: Settings, tmp_path: Path
) -> None:
    suite, results = tmp_path / "suite.zip", tmp_path / "results.json"
    assert exported(model, suite, dummies=5).networks == 2
    run(suite, results)
    found = import_results(results, settings)
    assert (found.timed, found.failed) == (7, 0)
    with opened_log(settings) as log:
        before = log.end_offsets(RESULTS)
    assert import_results(results, settings) == found
    with opened_log(settings) as log:
        assert log.end_offsets(RESULTS) == before
    (latency,) = constructed_latencies([str(model)], 2, None, {}, settings).latencies
    times = {
        name: median(each["samples_us"])
        for name, each in json.loads(results.read_text())["networks"].items()
    }
    networks = extract(model.read_bytes(), granularity=2).sequences
    wanted = sum(times[each.fingerprint] for each in networks)
    assert latency.sequential_us == pytest.approx(wanted)
    assert latency.critical_path_us == latency.sequential_us
    assert (latency.sequences, latency.unique, latency.lacking) == (3, 2, ())
    assert latency.cpu == found.cpu
    with pytest.raises(BenanzaError, match="none of its networks of at most 5 layers was timed"):
        constructed_latencies([str(model)], 5, None, {}, settings)


def test_a_suite_tells_neither_names_nor_weights_nor_the_order(model: Path, tmp_path: Path) -> None:
    """What it does tell: each network's operators, attributes and shapes."""
    suite = tmp_path / "suite.zip"
    exported(model, suite, granularity=1, dummies=20)
    inner = [each.fingerprint for each in extract(model.read_bytes(), granularity=1).sequences]
    with zipfile.ZipFile(suite) as archive:
        names = archive.namelist()
        everything = b"".join(archive.read(name) for name in names)
        shown = list(json.loads(archive.read("suite.json"))["networks"])
        operators = {
            node.op_type
            for name in names
            if name.startswith("networks/")
            for node in onnx.load_from_string(archive.read(name)).graph.node
        }
        for name in names:
            if name.startswith("networks/"):
                weights = onnx.load_from_string(archive.read(name)).graph.initializer
                assert all(not weight.raw_data or len(weight.raw_data) < 256 for weight in weights)
    assert b"secret" not in everything
    assert {*inner} <= {*shown}
    assert len(shown) == len({*inner}) + 20
    assert {"Conv", "Relu", "Sigmoid", "Mul"} <= operators
    # Networks of the model stand anywhere among the others, whatever the order there.
    orders = []
    for seed in range(3):
        exported(model, suite, granularity=1, dummies=20, seed=seed)
        with zipfile.ZipFile(suite) as archive:
            shown = list(json.loads(archive.read("suite.json"))["networks"])
        orders.append([name for name in shown if name in inner])
    assert len({tuple(order) for order in orders}) > 1


def test_the_same_seed_gives_the_same_suite(model: Path, tmp_path: Path) -> None:
    described = []
    for name in ("a.zip", "b.zip"):
        exported(model, tmp_path / name, dummies=5, seed=7)
        with zipfile.ZipFile(tmp_path / name) as archive:
            described.append(archive.read("suite.json"))
    assert described[0] == described[1]


def test_a_network_that_numpy_has_no_numbers_for_is_left_out_and_named(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    model.write_bytes(content("g (bfloat16[4] x) => (bfloat16[4] y) { y = Relu(x) }"))
    (left,) = exported(model, tmp_path / "suite.zip").left_out
    assert "bfloat16, which NumPy lacks" in left.reason


def test_more_dummies_than_the_zoo_has_are_refused(model: Path, tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match="ask for fewer dummies"):
        exported(model, tmp_path / "suite.zip", granularity=1, dummies=100_000)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "holds no results of a suite"),
        ('{"format": 1}', "missing required field"),
        ('{"networks": {"x": {}}}', "networks"),
    ],
)
def test_other_files_are_no_results(
    text: str, why: str, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "results.json"
    file.write_text(text)
    with pytest.raises(BenanzaError, match=why):
        import_results(file, settings)


def test_results_that_are_too_large_are_refused(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "results.json"
    file.write_text(" " * 101)
    monkeypatch.setattr("benanza.suites.import_results.MAX_RESULTS_BYTES", 100)
    with pytest.raises(BenanzaError, match="holds more than the 100 bytes that results may have"):
        import_results(file, settings)


def test_results_of_another_format_are_refused(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    fields = {
        "format": 9,
        "cpu": "c",
        "threads": 1,
        "onnxruntime": "1",
        "networks": {},
        "measured_at": "2026-11-25T12:00:00+00:00",
    }
    file.write_text(json.dumps(fields))
    with pytest.raises(BenanzaError, match="has format 9, not 1"):
        import_results(file, settings)
