"""Kinds of calls, and the terms of a report."""

import re
from pathlib import Path

import pytest

from benanza.report.kinds import COLOURS, CallKind, kind_of_call
from benanza.report.terms import TERMS

GLOSSARY = Path(__file__).parents[3] / "docs" / "glossary.md"


@pytest.mark.parametrize(
    ("op", "rule", "kind"),
    [
        ("Conv+BatchNormalization+Relu", "epilogue", "convolution"),
        ("Reshape+Gemm+Add", "epilogue", "matrix product"),
        ("MatMul+Softmax+MatMul", "attention", "attention"),
        ("Add+LayerNormalization", "region", "normalisation"),
        ("MaxPool", "", "pooling, reduction"),
        ("Mul+Add", "region", "element-wise"),
        ("Reshape+Transpose", "region", "movement"),
        ("NonMaxSuppression", "", "other"),
        ("NobodysOperator", "", "other"),
    ],
)
def test_a_call_is_of_the_kind_of_its_weightiest_operator(
    op: str, rule: str, kind: CallKind
) -> None:
    assert kind_of_call(op, rule) == kind
    assert kind in COLOURS


def test_every_term_is_in_the_glossary() -> None:
    known = set(re.findall(r"^\*\*([^*]+)\*\*", GLOSSARY.read_text("utf-8"), re.MULTILINE))
    assert TERMS.keys() - known == set()
