import onnx
import pytest

from benanza_analyzer.models.accounting import PAPER, treatment
from benanza_schemas.events import LayerSummary
from benanza_schemas.layer import Kind


def layer(op: str, kind: Kind = "compute", domain: str = "") -> LayerSummary:
    return LayerSummary(op, domain, kind, "0" * 32)


def test_the_paper_list_names_only_operators_that_onnx_has() -> None:
    known = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
    assert known >= PAPER


@pytest.mark.parametrize(
    "op", ["Conv", "Gemm", "MatMul", "Relu", "MaxPool", "BatchNormalization", "Softmax", "Add"]
)
def test_both_count_what_cudnn_and_cublas_execute(op: str) -> None:
    assert treatment(layer(op), "paper") == "counted"
    assert treatment(layer(op, domain="ai.onnx"), "paper") == "counted"
    assert treatment(layer(op), "full") == "counted"


@pytest.mark.parametrize("op", ["Concat", "Transpose", "Gather", "Pad", "Slice", "Cast"])
def test_only_full_counts_data_movement(op: str) -> None:
    assert treatment(layer(op, "movement"), "paper") == "not_counted"
    assert treatment(layer(op, "movement"), "full") == "counted"


def test_paper_counts_no_operator_of_a_custom_domain_that_has_a_known_name() -> None:
    assert treatment(layer("Conv", domain="com.example"), "paper") == "not_counted"
    assert treatment(layer("Conv", domain="com.example"), "full") == "counted"


def test_a_view_is_free_and_a_skipped_layer_missing_under_both() -> None:
    for accounting in ("paper", "full"):
        assert treatment(layer("Dropout", "view"), accounting) == "free"
        assert treatment(layer("Conv", "skipped"), accounting) == "missing"
