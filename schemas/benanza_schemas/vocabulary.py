"""The closed vocabularies of measurements whose values need words beside them.

Events and tables hold the values, so that they never change. Vocabularies whose values speak for
themselves, such as `benanza_schemas.layer.Precision`, are `Literal`s.
"""

from enum import StrEnum

GENERATED = "cupy"
"""The library of variants that are kernels which the runner generated; CuPy compiles them."""

SUBMITTED = "submitted"
"""The library of variants that are kernels which somebody submitted. Their algorithm is
`AUTHOR/FILE` with the first digits of the file's SHA-256.
"""

OF_NO_LIBRARY = frozenset({GENERATED, SUBMITTED})
"""What stands for a library in variants that are no library's calls."""

STATE_AS_WRITTEN = "state as written"
"""The rule of groups that are no groups but what a model has where a state is kept in place: the
layer that copies it, at the one position of the layer that writes what is new.
"""

COPIED_STATE = "a state that is copied: "
"""How the reason of a layer begins that copies a state."""

BATCH_NAMES = ("batch", "batch_size", "batchsize", "unk_batch")
"""What a named dimension is called, in any case, that is the batch."""


class CacheState(StrEnum):
    """What a variant finds in the caches when it is timed."""

    WARM = "warm"
    """The same call is repeated, so that all that it needs is in the caches."""

    INTERLEAVED = "in company"
    """Calls that run other code come in between; inputs and weights are in the last cache."""

    WEIGHTS_COLD = "weights cold"
    """Calls that run other code come in between; inputs and scratch memory are in the last cache,
    and weights are in memory.
    """

    COLD = "cold"
    """Nothing is in the caches. No runner writes it; events of version 4 and before may hold it."""


class StoppedBy(StrEnum):
    """The rule that ended the sampling of a variant."""

    NOT_SAMPLED = ""
    """Nothing was sampled, or the rule isn't known."""

    CONVERGED = "settled"
    """The median was known well enough."""

    CAP = "cap"
    """Time or samples ran out before."""

    SCREENED = "screened"
    """The variant was clearly slower than another, so it was not timed in full."""

    PRUNED = "hopeless"
    """The variant took so much longer than others when it was checked that it was not screened.
    Its only sample holds the launch overhead as well.
    """

    FIXED = "fixed"
    """A fixed number of samples was to be taken, whatever they showed."""

    RELATIVE_SPREAD = "stdrel"
    """No runner writes it; events of version 4 and before may hold it."""

    @property
    def in_full(self) -> bool:
        """Whether samples were taken until the median was known, or time or samples ran out."""
        return self in (StoppedBy.CONVERGED, StoppedBy.CAP)
