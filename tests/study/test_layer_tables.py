"""The study's tables of layers, and that its page has them as they are now."""

from pathlib import Path

from study.layer_tables import layer_tables, package_of
from study.population import Composition
from tests.extracted_zoo import extracted_zoo

PAGE = Path(__file__).parents[2] / "docs" / "results" / "study.md"


def test_the_page_has_the_tables_of_the_zoo() -> None:
    models = [each.composition for each in extracted_zoo()]
    assert "\n".join(layer_tables(models)) in PAGE.read_text(encoding="utf-8")


def test_models_that_are_all_in_others_are_named() -> None:
    small = Composition("timm:small", (("a", "Conv"), ("b", "Relu")))
    large = Composition("large", (*small.layers, ("c", "Conv"), ("a", "Conv")))
    lines = layer_tables([small, large])
    assert "| onnx | 1 | 4 | 3 | 75.0% | 75% |" in lines
    assert "| timm | 1 | 2 | 2 | 100.0% | 100% |" in lines
    assert "| all | 2 | 6 | 3 | 50.0% | 88% |" in lines
    assert "| Conv | 4 | 2 | 50% |" in lines
    assert "| 50% to 75% | 1 |" in lines
    assert lines[-1] == "All of them: timm:small (in large)."


def test_packages_are_named_before_the_colon() -> None:
    assert package_of("timm:resnet18") == "timm"
    assert package_of("alexnet") == "onnx"
