"""What events and tables hold for the words of a vocabulary stays as it is."""

from typing import get_args

from benanza_schemas.events import CeilingName, ImageLayout
from benanza_schemas.vocabulary import CacheState, StoppedBy


def test_the_values_are_those_of_recordings() -> None:
    """Recordings and topics hold them, so they may not change; new ones may be added."""
    assert {each.name: each.value for each in CacheState} == {
        "WARM": "warm",
        "INTERLEAVED": "in company",
        "WEIGHTS_COLD": "weights cold",
        "COLD": "cold",
    }
    assert {each.name: each.value for each in StoppedBy} == {
        "NOT_SAMPLED": "",
        "CONVERGED": "settled",
        "CAP": "cap",
        "SCREENED": "screened",
        "PRUNED": "hopeless",
        "FIXED": "fixed",
        "RELATIVE_SPREAD": "stdrel",
    }
    assert get_args(CeilingName) == ("bandwidth", "flops", "memory", "launches")
    assert get_args(ImageLayout) == ("", "NCHW", "NHWC", "NCHWc")


def test_samples_in_full_end_by_their_median_or_by_a_limit() -> None:
    assert {each for each in StoppedBy if each.in_full} == {StoppedBy.CONVERGED, StoppedBy.CAP}
