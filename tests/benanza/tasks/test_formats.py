"""What the formats of others have in common."""

import pytest

from benanza.tasks.formats.shared import LONGEST, op_type


@pytest.mark.parametrize(
    ("op", "word"),
    [
        ("Conv+Relu", "conv_relu"),
        ("../../x/Conv+..", "xconv"),
        ("Añadir Ü", "aadir"),
        ("MatMul+" * 9, "matmul_matmul_matmul_matmul_matmul_matmu"),
    ],
)
def test_operators_are_a_word_that_names_files(op: str, word: str) -> None:
    assert op_type(op) == word
    assert len(word) <= LONGEST
