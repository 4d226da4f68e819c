"""The layers of a program's blocks, with the names of the model's values for their tensors."""

from itertools import chain

from msgspec.structs import replace

from benanza_ingest.groups import epilogue, padded
from benanza_ingest.groups.attention import propose as attention
from benanza_ingest.groups.functions.join import numbered
from benanza_ingest.groups.joining import Joiner, Named
from benanza_ingest.groups.quantised import propose as quantised
from benanza_ingest.groups.simplified.simplify import simplified
from benanza_ingest.groups.wiring import Wiring, without_empty
from benanza_schemas.identity import LayerError


class NamedBlocks:
    """The layers of a model's blocks, which it is asked for in the order in which they run.

    A block that runs as a layer or a group of the simplified graph does writes only what that
    writes: later ones read this instead of the values that equal it.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._whole = _Blocks(wiring)
        self._found = simplified(without_empty(wiring))
        self._simplified = _Blocks(self._found.wiring) if self._found else None
        self._instead: dict[str, str] = {}

    def named(self, positions: tuple[int, ...], fingerprint: str | None) -> Named:
        """The layer of these positions, ascending; that of this fingerprint if they have several.

        Raises `LayerError` as `Joiner.join` does.
        """
        try:
            named = self._whole.named(positions, fingerprint)
        except LayerError:  # Equal results have no order, and are one in the simplified graph.
            if (other := self._as_simplified(positions, fingerprint)) is None:
                raise
            return other
        if fingerprint not in (None, named.fingerprint):
            other = self._as_simplified(positions, fingerprint)
            if other is not None:
                return other
        return replace(named, names=tuple(map(self.value, named.names)))

    def value(self, name: str) -> str:
        """The name of what is read instead of a value."""
        return self._instead.get(name, name)

    def _as_simplified(self, positions: tuple[int, ...], fingerprint: str | None) -> Named | None:
        """The layer of this fingerprint of the simplified graph; None if it isn't."""
        if self._found is None or self._simplified is None:
            return None
        of = self._found.places
        places = sorted({of[position] for position in positions})
        if any(place in places and position not in positions for position, place in enumerate(of)):
            return None
        named = self._simplified.named(tuple(places), fingerprint)
        if named.fingerprint != fingerprint:
            return None
        equal, nodes = self._found.values, [self._wiring.node(position) for position in positions]
        written = {name for node in nodes for name in node.outputs}
        read = {equal.get(x, x): x for node in nodes for x in node.inputs if x not in written}
        here = {
            name: name if name in written else self.value(read.get(name, name))
            for name in named.names
        }
        self._instead.update([(x, here[equal[x]]) for x in written if equal.get(x) in here])
        return replace(named, names=tuple([here[name] for name in named.names]))


class _Blocks:
    """The layers of one graph's blocks."""

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._joiner = Joiner(wiring)
        grouped = without_empty(wiring)
        epilogues = epilogue.propose(grouped)
        chains = (
            *chain.from_iterable(epilogues.values()),
            *padded.propose(grouped, epilogues),
            *quantised.propose(grouped, epilogues),
        )
        self._forms = {group.positions: group.form for group in chains if group.form}
        self._forms |= {
            proposal.positions: proposal.named() for proposal in attention.propose(grouped)
        }

    def named(self, positions: tuple[int, ...], fingerprint: str | None) -> Named:
        """The layer of these positions; with its numbers if it has this fingerprint then."""
        named = self._forms.get(positions) or self._joiner.named(positions)
        if fingerprint not in (None, named.fingerprint):
            other = numbered(self._wiring, self._joiner.named(positions))
            return other if other.fingerprint == fingerprint else named
        return named
