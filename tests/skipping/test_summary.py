"""The list of what was skipped counts each reason, and names a GPU and PyTorch as such."""

import pytest

from tests.skipping.summary import skipped_lines

FILE = "tests/test_a.py"


def skipped_test(reason: str) -> pytest.TestReport:
    where = (FILE, 1, f"Skipped: {reason}")
    return pytest.TestReport(FILE, (FILE, 1, "a"), {}, "skipped", where, "setup")


def skipped_module(reason: str) -> pytest.CollectReport:
    return pytest.CollectReport(FILE, "skipped", (FILE, 1, f"Skipped: {reason}"), [])


def test_each_reason_is_one_line_with_its_count() -> None:
    no_torch = "could not import 'torch': No module named 'torch'"
    assert skipped_lines(
        [
            skipped_test("needs an NVIDIA GPU"),
            skipped_test("there is a GPU here"),
            skipped_test("needs an NVIDIA GPU"),
            skipped_module(no_torch),
            skipped_test(no_torch),
            skipped_test("the GPU runtime isn't installed; say: pip install benanza[cuda]"),
        ]
    ) == [
        "for want of PyTorch: 1 module: could not import 'torch'",
        "for want of PyTorch: 1 test: could not import 'torch'",
        "for want of a GPU: 2 tests: needs an NVIDIA GPU",
        "for want of a GPU: 1 test: the GPU runtime isn't installed; say: pip install "
        "benanza[cuda]",
        "otherwise: 1 test: there is a GPU here",
    ]


def test_nothing_skipped_has_no_lines() -> None:
    assert skipped_lines([]) == []
