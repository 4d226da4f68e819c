"""The list at the end of a run: why tests were skipped, and how many."""

from collections import Counter
from collections.abc import Sequence

import pytest

ON_A_GPU = ("the GPU runtime ", "needs an NVIDIA GPU")
"""How the reasons begin of tests that need a GPU with its libraries."""
WITH_PYTORCH = tuple(
    f"could not import '{package}'" for package in ("torch", "torchvision", "timm", "onnxscript")
)

Skipped = pytest.TestReport | pytest.CollectReport


def skipped_lines(reports: Sequence[Skipped]) -> list[str]:
    """One line for each reason, first those of the tests that need a GPU or PyTorch.

    A module that was skipped as a whole counts as one module: its tests were never collected.
    """
    counts = Counter((_want(why := _reason(each)), why, _what(each)) for each in reports)
    return [
        f"{want}: {count} {what}{'s' if count > 1 else ''}: {reason}"
        for (want, reason, what), count in sorted(counts.items())
    ]


def _want(reason: str) -> str:
    if reason.startswith(ON_A_GPU):
        return "for want of a GPU"
    if reason.startswith(WITH_PYTORCH):
        return "for want of PyTorch"
    return "otherwise"


def _what(report: Skipped) -> str:
    return "test" if isinstance(report, pytest.TestReport) else "module"


def _reason(report: Skipped) -> str:
    """In one line, as short as it can be said."""
    assert isinstance(report.longrepr, tuple)
    _, _, text = report.longrepr
    first = text.removeprefix("Skipped: ").splitlines()[0]
    return first.partition(": No module named")[0]
