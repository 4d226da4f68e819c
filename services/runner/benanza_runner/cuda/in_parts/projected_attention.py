"""Attention behind the product that computes its queries, keys and values."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from benanza_runner.cuda.calls import ProjectedAttention
from benanza_runner.cuda.candidate import Candidate, in_turn
from benanza_runner.cuda.candidate_source import CandidateSource
from benanza_runner.cuda.in_parts.part_of_call import PartOfCall
from benanza_runner.cuda.workspace import Workspace
from benanza_schemas.events import Variant


class ProjectedAttentions:
    """Candidates of attention, each behind those of a product that its library offers first: one
    for each layout of the weights.
    """

    def __init__(self, products: CandidateSource, attentions: Sequence[CandidateSource]) -> None:
        self._products = products
        self._attentions = attentions
        self.library = products.library

    def candidates(self, workspace: Workspace) -> Iterator[Candidate | Variant]:
        """Those of each library of attention with each of the product's, whose name they have."""
        call = workspace.call
        if not isinstance(call, ProjectedAttention):
            return
        shape = call.product.output
        rows = workspace.memory.empty(shape, tuple(range(len(shape))), workspace.precision)
        offered = self._products.candidates(PartOfCall(workspace, call.product, {}, rows))
        before: dict[str, Candidate] = {}
        for each in offered:
            if isinstance(each, Candidate):
                before.setdefault(each.layout, each)
        made = dict.fromkeys(("query", "key", "value"), rows)
        attention = PartOfCall(workspace, call.attention, made)
        for source in self._attentions:
            for behind in source.candidates(attention):
                if isinstance(behind, Variant):
                    yield replace(behind, library=self.library)
                else:
                    yield from (_both(product, behind) for product in before.values())


def _both(product: Candidate, attention: Candidate) -> Candidate:
    def prepare() -> int:
        return max(product.prepare(), attention.prepare())

    names = product.algorithm, product.layout, f"then {attention.library} {attention.algorithm}"
    return attention._replace(
        library=product.library,
        algorithm=", ".join(filter(None, names)),
        prepare=prepare,
        compiles=False,
        run=in_turn(product.run, attention.run),
    )
