"""What layers need, and what there is."""

from pathlib import Path

import psutil
import pytest

from benanza_runner.isolation.memory import free_bytes, needed_bytes
from benanza_schemas.layer import Layer, Precision, Tensor
from tests.runner.layers import floats, gemm, relu, single


@pytest.mark.parametrize(
    ("layer", "precision", "needed"),
    [
        (relu(1000), "fp32", 8_000),
        (relu(1000), "fp16", 4_000),
        (gemm(1, 10, 20), "fp32", 4 * (10 + 2 * 200 + 2 * 20 + 20)),
        (single("Cast", 13, (floats(8),), (Tensor("int64", (8,)),), to=7), "fp16", 16 + 64),
        (single("Identity", 13, (Tensor("string", (8,)),) * 1, (floats(1),)), "fp32", 4),
    ],
)
def test_needed(layer: Layer, precision: Precision, needed: int) -> None:
    assert needed_bytes(layer, precision) == needed


def test_free(tmp_path: Path) -> None:
    machine = free_bytes(tmp_path)
    assert 0 < machine <= psutil.virtual_memory().total
    (tmp_path / "memory.current").write_text("1000\n")
    for limit, free in (("5000\n", 4000), ("500\n", 0)):
        (tmp_path / "memory.max").write_text(limit)
        assert free_bytes(tmp_path) == free
    (tmp_path / "memory.max").write_text("max\n")
    assert free_bytes(tmp_path) == pytest.approx(machine, rel=0.5)


def test_files_that_the_kernel_may_drop_count_as_free(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("4000\n")
    (tmp_path / "memory.stat").write_text("anon 500\nfile 3400\ninactive_file 3000\n")
    assert free_bytes(tmp_path) == 4000
    (tmp_path / "memory.stat").write_text("anon 500\ninactive_file 4100\n")  # read a moment later
    assert free_bytes(tmp_path) == 5000
    (tmp_path / "memory.stat").write_text("anon 500\n")
    assert free_bytes(tmp_path) == 1000
