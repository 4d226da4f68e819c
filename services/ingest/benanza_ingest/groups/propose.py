"""Runs all rules and turns the positions that they propose into layers of several operators."""

from benanza_ingest.extracted import ExtractedGroup
from benanza_ingest.groups import attention, elementwise, epilogue, norms, prologue, shuffle
from benanza_ingest.groups.joining import Joiner
from benanza_ingest.groups.wiring import Wiring

_RULES = (
    (epilogue.RULE, epilogue.propose),
    (elementwise.RULE, elementwise.propose),
    (attention.RULE, attention.propose),
    (norms.RULE, norms.propose),
    (prologue.RULE, prologue.propose),
    (shuffle.RULE, shuffle.propose),
)


def propose_groups(wiring: Wiring) -> tuple[ExtractedGroup, ...]:
    """The groups of all rules, each set of layers once."""
    joiner = Joiner(wiring)
    groups: dict[tuple[int, ...], ExtractedGroup] = {}
    for rule, propose in _RULES:
        for positions in propose(wiring):
            if positions in groups:
                continue
            joined = joiner.join(positions)
            flops = sum([wiring.layers[position].flops for position in positions])
            groups[positions] = ExtractedGroup(
                rule, positions, joined.layer, joined.fingerprint, flops, joined.bytes
            )
    return tuple(groups.values())
