"""The port to whatever offers candidates: a library, or kernels of this package.

`tests/runner/cuda/candidate_source_contract.py` is the suite that every adapter passes.
"""

from collections.abc import Iterator
from typing import Protocol

from benanza_runner.cuda.candidate import Candidate
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant


class CandidateSource(Protocol):
    """Offers candidates for the calls that it knows.

    `library` is the name that its candidates bear. Several adapters may share a name, where they
    use the same library for different calls.
    """

    library: str

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """The ways of running the workspace's call, the most promising first.

        There are none for a call that the library doesn't know. A way that is known to fail comes
        as a `Variant` with its reason. Asked again for the same call, a library offers the
        same names again, because a stored name has to find its candidate later.
        """
        ...
