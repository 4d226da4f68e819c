"""The roofline of layers that compute with integers counts only what they move."""

import pytest

from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.models.integers import QUANTISED
from benanza_ingest.groups.quantised.propose import RULE
from benanza_schemas.events import Group, LayerSummary
from tests.analyzer.events import fingerprint, model, summary


@pytest.mark.parametrize(
    ("op", "counted"),
    [
        ("MatMul", 7),
        ("MatMulInteger", 0),
        ("ConvInteger", 0),
        ("QLinearConv", 0),
        ("QGemm", 0),
        ("DynamicQuantizeMatMul", 0),
        ("MatMulNBits", 0),
        ("QuickGelu", 7),
    ],
)
def test_only_operations_in_floating_point_count(op: str, counted: int) -> None:
    catalogue = Catalogue()
    layer = LayerSummary(op, "", "compute", fingerprint(op), flops=7, bytes=5)
    compile_architecture(model([layer]), catalogue)
    assert (catalogue.flops[1], catalogue.bytes[1]) == (counted, 5)


@pytest.mark.parametrize(("rule", "counted"), [("epilogue", 7), (QUANTISED, 0)])
def test_so_it_is_with_groups_on_quantised_values(rule: str, counted: int) -> None:
    catalogue = Catalogue()
    layers = [summary("Conv"), summary("Relu")]
    group = Group(fingerprint("cr"), rule, (0, 1), flops=7, bytes=5)
    compile_architecture(model(layers, groups=[group]), catalogue)
    number = catalogue.number(group.fingerprint)
    assert (catalogue.flops[number], catalogue.bytes[number]) == (counted, 5)


def test_ingest_proposes_groups_of_this_rule() -> None:
    assert RULE == QUANTISED
