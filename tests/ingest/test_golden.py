"""`INGEST_VERSION` is raised when ingest says something else of a model."""

from benanza_ingest.core import INGEST_VERSION
from tests.ingest.golden import found, stored

MEND = "store the digests with `python -m tests.ingest.golden`"


def test_ingest_says_the_same_of_a_model_as_long_as_its_version_is_the_same() -> None:
    """Else models that were ingested before would stay as they were: their events have the ids
    that the new ones have.
    """
    golden = stored()
    assert golden.ingest_version == INGEST_VERSION, f"INGEST_VERSION was raised: {MEND}"
    digests = found()
    assert digests.keys() == golden.digests.keys(), f"there are other models here: {MEND}"
    moved = [name for name, digest in digests.items() if digest != golden.digests[name]]
    assert not moved, (
        f"ingest says something else of {', '.join(moved)}: raise INGEST_VERSION in "
        f"benanza_ingest/core.py, and {MEND}"
    )
