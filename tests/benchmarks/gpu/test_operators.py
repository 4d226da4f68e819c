"""Which layers of exported models have calls for a GPU stands in the docs, and stays so."""

from functools import cache
from pathlib import Path

import pytest

from benchmarks.gpu.operators import CallCoverage, coverage, main, markdown
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import DEPEND_ON_DATA, EXPORTED
from tests.ingest.real_models import extracted as real

ROOT = Path(__file__).parents[3]
DOCUMENT = ROOT / "docs" / "gpu-operators.md"


@cache
def covered(name: str) -> CallCoverage:
    """That of an exported model."""
    return coverage(name, real(name))


@pytest.mark.slow
def test_the_document_says_what_has_calls_now() -> None:
    """It fails where a layer that had one has none any more, and where the document is old."""
    found = markdown([covered(name) for name in EXPORTED])
    assert found == DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTED)
def test_every_layer_of_exported_models_has_a_call(name: str) -> None:
    outcomes = list(covered(name).layers.values())
    missing = [each for each in outcomes if each.reason]
    assert {(each.title, each.reason) for each in missing if not each.skipped} == set()
    assert bool(missing) == (name in DEPEND_ON_DATA)


def test_the_program_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    main([str(ROOT / "tests" / "data" / "exported" / f"{EXPORTED[0]}.onnx.gz")])
    printed = capsys.readouterr().out
    assert printed == markdown([covered(EXPORTED[0])])


def test_what_has_no_call_is_there_with_its_reason() -> None:
    model = extracted(
        "g (float[1,4,8,8] x) => (y) <float[4,4,1,1] w = [\"location\": \"w\"]>"
        "{ c = Conv(x, w) t = ThresholdedRelu(c) d = Det(t) y = Relu(d) }"
    )  # fmt: skip
    found = coverage("mine", model)
    assert [(each.title, each.call) for each in found.layers.values()] == [
        ("Conv", "Convolution"),
        ("ThresholdedRelu", "Elementwise"),
        ("Det", ""),
        ("Relu", "Elementwise"),
    ]
    (group,) = found.groups.values()
    assert "ThresholdedRelu in one call" in group.reason
    text = markdown([found])
    assert "| mine | 4 | 3 | 0 | 1 | 0 |" in text
    assert "| Det | no library here runs Det on a GPU: " in text


def test_what_ingest_could_not_tell_of_a_layer_counts_as_missing() -> None:
    model = extracted("g (float[1,4] x) => (y) { y = mine.Own(x) }")
    (outcome,) = coverage("mine", model).layers.values()
    assert outcome.call == ""
    assert outcome.reason
    text = markdown([coverage("mine", model)])
    assert "| mine | 1 | 0 | 1 | 0 | 0 |" in text
    assert f"| {outcome.reason} | Own | 1 mine |" in text


def test_layers_skipped_for_the_same_reason_are_one_line() -> None:
    model = extracted(
        "g (float[2,4] x) => (z) { i = NonZero(x) t = Transpose<perm=[1,0]>(i) z = GatherND(x, t) }"
    )
    (line,) = [
        line for line in markdown([coverage("mine", model)]).splitlines() if "GatherND" in line
    ]
    assert line == (
        "| a size of what it reads or writes is not known; it depends on the data |"
        " GatherND, NonZero, Transpose | 3 mine |"
    )
