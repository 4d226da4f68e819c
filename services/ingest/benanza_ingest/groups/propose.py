"""Runs all rules and turns the positions that they propose into layers of several operators."""

from benanza_ingest.extracted import ExtractedGroup
from benanza_ingest.groups import attention, epilogue, merged, prologue, regions, shuffle
from benanza_ingest.groups.joining import Joiner
from benanza_ingest.groups.wiring import Wiring
from benanza_schemas.identity import LayerError


def propose_groups(wiring: Wiring) -> tuple[ExtractedGroup, ...]:
    """The groups of all rules, each set of layers once."""
    epilogues = epilogue.propose(wiring)
    proposed = (
        (epilogue.RULE, epilogues),
        (attention.RULE, attention.propose(wiring)),
        (prologue.RULE, prologue.propose(wiring)),
        (shuffle.RULE, shuffle.propose(wiring)),
        (merged.RULE, merged.propose(wiring)),
        (regions.RULE, regions.propose(wiring, epilogues)),
    )
    joiner = Joiner(wiring)
    groups: dict[tuple[int, ...], ExtractedGroup] = {}
    for rule, found in proposed:
        for positions in found:
            if positions in groups:
                continue
            try:
                joined = joiner.join(positions)
            except LayerError:  # too many results look the same
                continue
            flops = sum([wiring.layers[position].flops for position in positions])
            groups[positions] = ExtractedGroup(
                rule, positions, joined.layer, joined.fingerprint, flops, joined.bytes
            )
    return tuple(groups.values())
