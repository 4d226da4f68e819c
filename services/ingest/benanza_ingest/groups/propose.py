"""Runs all rules and turns the positions that they propose into layers of several operators."""

from msgspec.structs import replace

from benanza_ingest.extracted import ExtractedGroup
from benanza_ingest.groups import elementwise, epilogue, norms, prologue, shuffle
from benanza_ingest.groups.attention import propose as attention
from benanza_ingest.groups.attention.normal_form import Form
from benanza_ingest.groups.joining import Joiner
from benanza_ingest.groups.wiring import Wiring
from benanza_ingest.layering import costs
from benanza_schemas.identity import canonical, fingerprint_of_canonical

_RULES = (
    (epilogue.RULE, epilogue.propose),
    (elementwise.RULE, elementwise.propose),
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
    forms: dict[Form, ExtractedGroup] = {}
    for proposal in attention.propose(wiring):
        form = proposal.form
        if form not in forms:
            layer = canonical(form.layer)
            forms[form] = ExtractedGroup(
                attention.RULE,
                (),
                layer,
                fingerprint_of_canonical(layer),
                costs.flops(layer),
                costs.moved_bytes(layer),
            )
        groups[proposal.positions] = replace(forms[form], layers=proposal.positions)
    return tuple(groups.values())
