"""Which layers of exported models have calls for a GPU stands in the docs, and stays so."""

from pathlib import Path

import pytest

from benchmarks.gpu_operators import coverage, main, markdown
from tests.ingest.onnx_text import extracted
from tests.ingest.real_models import EXPORTED
from tests.ingest.real_models import extracted as real

ROOT = Path(__file__).parent.parent.parent
DOCUMENT = ROOT / "docs" / "gpu-operators.md"


def test_the_document_says_what_has_calls_now() -> None:
    """It fails where a layer that had one has none any more, and where the document is old."""
    found = markdown([coverage(name, real(name)) for name in EXPORTED])
    assert found == DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", EXPORTED)
def test_every_layer_of_exported_models_has_a_call(name: str) -> None:
    outcomes = coverage(name, real(name)).layers.values()
    assert {(each.title, each.reason) for each in outcomes if each.reason} == set()


def test_the_program_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    main([str(ROOT / "tests" / "data" / "exported" / f"{EXPORTED[0]}.onnx.gz")])
    printed = capsys.readouterr().out
    assert printed == markdown([coverage(EXPORTED[0], real(EXPORTED[0]))])


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
    assert "| mine | 4 | 3 | 1 | 0 |" in text
    assert "| Det | no library here runs Det | 1 mine |" in text


def test_what_ingest_could_not_tell_of_a_layer_counts_as_missing() -> None:
    model = extracted("g (float[1,4] x) => (y) { y = mine.Own(x) }")
    (outcome,) = coverage("mine", model).layers.values()
    assert outcome.call == ""
    assert outcome.reason
