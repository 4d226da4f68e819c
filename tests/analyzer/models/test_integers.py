"""The roofline of layers that compute with integers counts only what they move."""

import re

import onnx
import pytest

from benanza_analyzer.models.architecture import compile_architecture
from benanza_analyzer.models.catalogue import Catalogue
from benanza_analyzer.models.integers import QUANTISED, computes_with_integers
from benanza_backbone.clickhouse.migrations import shipped
from benanza_ingest.groups.quantised.propose import RULE
from benanza_schemas.events import Group, LayerSummary
from benanza_schemas.operators.onnxruntime import own_schemas
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
        ("MatMulBlockQuantizedFp8Weight", 0),
        ("QMoE", 0),
        ("QuickGelu", 7),
    ],
)
def test_only_operations_in_floating_point_count(op: str, counted: int) -> None:
    catalogue = Catalogue()
    layer = LayerSummary(op, "", "compute", fingerprint(op), flops=7, bytes=5)
    compile_architecture(model([layer]), catalogue)
    assert (catalogue.flops[1], catalogue.bytes[1]) == (counted, 5)


@pytest.mark.parametrize(
    ("rule", "counted"), [("epilogue", 7), (QUANTISED, 0), (f"once {QUANTISED}", 0)]
)
def test_so_it_is_with_groups_on_quantised_values(rule: str, counted: int) -> None:
    catalogue = Catalogue()
    layers = [summary("Conv"), summary("Relu")]
    group = Group(fingerprint("cr"), rule, (0, 1), flops=7, bytes=5)
    compile_architecture(model(layers, groups=[group]), catalogue)
    number = catalogue.number(group.fingerprint)
    assert (catalogue.flops[number], catalogue.bytes[number]) == (counted, 5)


def test_the_stores_view_goes_by_the_same_names() -> None:
    """Of all operators that there are, and the same rules of groups."""
    sql = "".join(migration.sql for migration in shipped())
    *_, pattern = re.findall(r"match\(op, '(.*?)'\) AS integers", sql)
    names = {each.name for each in onnx.defs.get_all_schemas()} | {op for _, op in own_schemas()}
    for name in names:
        layer = LayerSummary(name, "", "compute", fingerprint(name))
        assert bool(re.search(pattern, name)) == computes_with_integers(layer), name
    assert f"endsWith(rule, '{QUANTISED}') AS integers" in sql


def test_so_it_is_where_a_layer_runs_in_place_of_equal_ones() -> None:
    """The rule of such a group doesn't say what the layer computes with."""
    catalogue = Catalogue()
    layer = LayerSummary("MatMulInteger", "", "compute", fingerprint("i"), flops=7, bytes=5)
    once = Group(layer.fingerprint, "once", (0, 1), flops=7, bytes=5)
    compile_architecture(model([layer, layer], groups=[once]), catalogue)
    assert (catalogue.flops[1], catalogue.bytes[1]) == (0, 5)


def test_ingest_proposes_groups_of_this_rule() -> None:
    assert RULE == QUANTISED
