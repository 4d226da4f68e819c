"""What scores say: the names of the highest, and how many samples are right by a metric."""

import hashlib
from collections.abc import Iterable, Sequence
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from benanza.pipelines.specification import PipelineOutput
from benanza_backbone.document import Document
from benanza_runner.arrays import Array

CONFIDENCE = 0.95


class Interval(Document, frozen=True, kw_only=True):
    """Between which shares the true one lies, at a confidence of `CONFIDENCE`."""

    least: float
    greatest: float


class NamedScores(NamedTuple):
    """What one sample came to: the positions of the highest scores, and their names, which a score
    without a label lacks.
    """

    positions: tuple[int, ...]
    names: tuple[str, ...]


def named(scores: Array, output: PipelineOutput, most: int) -> NamedScores:
    """The names of the highest scores of one sample, at most so many, highest first. Of equal
    scores the first comes first. What is no number is no score, and there may be none.
    """
    flat = scores.reshape(-1)
    numbers = np.flatnonzero(~np.isnan(flat))
    order = numbers[np.argsort(-flat[numbers], kind="stable")[:most]]
    positions = tuple(int(position) for position in order)
    return NamedScores(positions, tuple(_label(position, output) for position in positions))


def _label(position: int, output: PipelineOutput) -> str:
    number = position - output.offset
    return output.labels[number] if 0 <= number < len(output.labels) else ""


def right(found: Sequence[NamedScores | None], labels: Sequence[str], most: int) -> int:
    """How many samples have their label among their first `most` names; one that failed is `None`,
    and not right.
    """
    return sum(
        bool(label) and label in each.names[:most]
        for each, label in zip(found, labels, strict=True)
        if each is not None
    )


def predictions_sha256(found: Iterable[NamedScores | None]) -> str:
    """The SHA-256 of a line for each sample: the position of its highest score, or a dash."""
    lines = (f"{each.positions[0]}\n" if each else "-\n" for each in found)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def interval(successes: int, trials: int) -> Interval:
    """Wilson's interval for a share of at least one trial. Source: Wilson, "Probable Inference, the
    Law of Succession, and Statistical Inference", JASA 22 (1927).
    """
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    share = successes / trials
    centre = share + z * z / (2 * trials)
    half = z * sqrt(share * (1 - share) / trials + (z / (2 * trials)) ** 2)
    scale = 1 + z * z / trials
    return Interval(
        least=(centre - half) / scale if successes else 0.0,
        greatest=(centre + half) / scale if successes < trials else 1.0,
    )
