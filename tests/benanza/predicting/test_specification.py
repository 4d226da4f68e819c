"""The file that describes a GPU."""

import re
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benanza.predicting.measure import written
from benanza.predicting.specification import SHEETS, known_sheets, read_specification
from benanza_analyzer.prediction.gpu import Figures, GpuSpecification
from benanza_backbone.errors import BenanzaError
from benanza_schemas.layer import Precision

A100 = (SHEETS / "nvidia-a100-sxm-80gb.toml").read_text(encoding="utf-8")


def test_a_data_sheet_is_read_in_base_units() -> None:
    found = read_specification(SHEETS / "nvidia-a100-sxm-80gb.toml")
    assert found.memory == pytest.approx(2.039e12)
    assert found == GpuSpecification(
        name="NVIDIA A100-SXM4-80GB",
        figures="data sheet",
        compute_capability="8.0",
        multiprocessors=108,
        clock=1.41e9,
        memory=found.memory,
        cache_bytes=40 * 2**20,
        flops={"fp32": 19.5e12, "tf32": 156e12, "fp16": 312e12, "bf16": 312e12},
    )


def test_all_sheets_are_data_sheets_of_different_gpus() -> None:
    sheets = known_sheets()
    assert len(sheets) == len(list(SHEETS.glob("*.toml"))) > 3
    for sheet in sheets.values():
        assert sheet.figures == "data sheet"
        assert sheet.launch_us is sheet.cache_bandwidth is None, "no data sheet has them"


def test_the_gpus_of_the_recordings_have_sheets() -> None:
    assert {"NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA Tesla V100-SXM2-16GB"} <= {
        *known_sheets()
    }


@given(
    st.builds(
        GpuSpecification,
        name=st.sampled_from(["NVIDIA H200", "another"]),
        figures=st.sampled_from(get_args(Figures)),
        compute_capability=st.sampled_from(["9.0", "12.0"]),
        multiprocessors=st.integers(1, 300),
        clock=st.integers(100, 4000).map(lambda mhz: mhz * 1e6),
        memory=st.floats(1e11, 1e13),
        cache_bytes=st.floats(1e6, 1e9),
        flops=st.dictionaries(
            st.sampled_from(get_args(Precision)), st.floats(1e11, 1e16), min_size=1
        ),
        cache_bandwidth=st.none() | st.floats(1e11, 1e14),
        launch_us=st.none() | st.floats(0.1, 10),
    )
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, gpu: GpuSpecification
) -> None:
    path = tmp_path_factory.getbasetemp() / "gpu.toml"
    path.write_text(written(gpu), encoding="utf-8")
    found = read_specification(path)
    for name, value in gpu._asdict().items():
        read = getattr(found, name)
        if isinstance(value, float | dict):
            assert read == pytest.approx(value, rel=1e-2), name
        else:
            assert read == value, name


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ('clock = "1410 MHz"', "", 'clock is missing; add clock = "1980 MHz"'),
        ("multiprocessors = 108", "", "multiprocessors is missing; add multiprocessors = 132"),
        ("[matrix]", "[rates]", "there is no key rates; there are name, figures,"),
        ("tf32", "fp4", "there is no key fp4 in [matrix]; there are fp32, tf32, fp16, bf16"),
        ('"2.039 TB/s"', '"2.039 TB"', "memory can't be '2.039 TB'; give a number above zero in"),
        ('"2.039 TB/s"', "2039", "memory can't be 2039; give a number above zero in GB/s, TB/s"),
        ('"40 MiB"', '"-40 MiB"', "cache can't be '-40 MiB'; give a number above zero in MB"),
        ('"40 MiB"', '"0 MiB"', "cache can't be '0 MiB'"),
        ('"312 TFLOP/s"', '"312 TFLOPS"', "matrix.fp16 can't be '312 TFLOPS'; give a number"),
        ("= 108", "= -1", "multiprocessors can't be -1; give 132"),
        ("= 108", "= true", "multiprocessors can't be True; give 132"),
        (
            '"data sheet"',
            '"guessed"',
            "figures can't be 'guessed'; give 'data sheet' or",
        ),
        ('"NVIDIA A100-SXM4-80GB"', '""', "name can't be ''; give \"NVIDIA H100"),
        ('name = "', "name = ", "Invalid value (at line 3"),
        ('cache = "', 'launch = "soon"\ncache = "', "launch can't be 'soon'; give a number above"),
    ],
)
def test_a_file_with_a_mistake_says_how_to_mend_it(
    tmp_path: Path, before: str, after: str, said: str
) -> None:
    assert before in A100
    path = tmp_path / "gpu.toml"
    path.write_text(A100.replace(before, after, 1), encoding="utf-8")
    with pytest.raises(BenanzaError, match=re.escape(said)) as raised:
        read_specification(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


def test_rates_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "gpu.toml"
    path.write_text(A100.partition("[matrix]")[0], encoding="utf-8")
    said = r'\[matrix\] is missing; add it, and below it fp32 = "67 TFLOP/s"'
    with pytest.raises(BenanzaError, match=said):
        read_specification(path)


def test_what_is_no_file_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(BenanzaError, match=r"can't be read: .* give a file in TOML"):
        read_specification(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(BenanzaError, match="can't be read"):
        read_specification(tmp_path / "binary.toml")
