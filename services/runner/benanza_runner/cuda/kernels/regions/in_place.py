"""Movement without a kernel, where the layout of feature maps makes it a view."""

from collections.abc import Iterator

from benanza_runner.cuda.candidate import NO_LIBRARY, Candidate, no_scratch
from benanza_runner.cuda.lowering.regions.in_place import in_place
from benanza_runner.cuda.workspace import Workspace


class InPlaceViews:
    """Candidates that start nothing: their result is the operand, seen otherwise."""

    library = NO_LIBRARY

    def candidates(self, workspace: Workspace) -> Iterator[Candidate]:
        """One for each layout in which the elements are where they have to be."""
        way = in_place(workspace.call)
        if way is not None:
            result = workspace.alias(way.name, way.operand, way.shape, way.result)
            yield Candidate(
                NO_LIBRARY, "in place", way.layout, no_scratch, _nothing, result, in_place=True
            )


def _nothing() -> None:
    """There is nothing to start."""
