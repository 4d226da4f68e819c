"""Runs all rules and turns the positions that they propose into layers of several operators."""

from collections.abc import Iterable
from itertools import chain

from msgspec.structs import replace

from benanza_ingest.extracted import ExtractedGroup
from benanza_ingest.groups import (
    channels_last,
    epilogue,
    in_place,
    merged,
    padded,
    prologue,
    shuffle,
)
from benanza_ingest.groups.attention import propose as attention
from benanza_ingest.groups.attention.normal_form import Form
from benanza_ingest.groups.functions import propose as functions
from benanza_ingest.groups.functions.join import with_numbers
from benanza_ingest.groups.joining import Joiner
from benanza_ingest.groups.quantised import propose as quantised
from benanza_ingest.groups.quantised.units import dequantising
from benanza_ingest.groups.regions import propose as regions
from benanza_ingest.groups.simplified import propose as once
from benanza_ingest.groups.simplified.simplify import simplified
from benanza_ingest.groups.wiring import Wiring, without_empty
from benanza_ingest.layering import costs
from benanza_schemas.identity import LayerError, canonical, fingerprint_of_canonical


def propose_groups(wiring: Wiring) -> tuple[ExtractedGroup, ...]:
    """The groups of all rules, and those that run as the layers and groups of the simplified graph
    do: each set of layers once, and once more with its numbers or as another layer.
    """
    wiring = without_empty(wiring)
    groups = _proposed(wiring)
    simplification = simplified(wiring)
    if simplification is None:
        return groups
    return (
        *groups,
        *once.propose(wiring, simplification, groups, _proposed(simplification.wiring)),
    )


def _proposed(wiring: Wiring) -> tuple[ExtractedGroup, ...]:
    """The groups of all rules, each set of layers once, and once more with its numbers."""
    epilogues = epilogue.propose(wiring)
    chains = [*chain.from_iterable(epilogues.values())]
    behind_pads = padded.propose(wiring, epilogues)
    on_integers = quantised.propose(wiring, epilogues)
    formed = (*chains, *behind_pads, *on_integers)
    forms = {group.positions: group.form for group in formed if group.form is not None}
    attentions = attention.propose(wiring)
    alone, attended = set[int](), set[int]()
    for attention_group in attentions:
        attended.update(attention_group.positions)
        if not attention_group.in_place:
            alone.update(attention_group.positions)
    in_units = {position for group in on_integers for position in group.positions}
    dequantised = in_units.intersection(dequantising(wiring))
    proposed = (
        (epilogue.RULE, [group.positions for group in chains]),
        (padded.RULE, [group.positions for group in behind_pads]),
        (quantised.RULE, [group.positions for group in on_integers]),
        (prologue.RULE, prologue.propose(wiring, epilogues)),
        (shuffle.RULE, shuffle.propose(wiring)),
        (channels_last.RULE, channels_last.propose(wiring)),
        (merged.RULE, merged.propose(wiring)),
        (in_place.RULE, in_place.propose(wiring, epilogues, attended)),
        (regions.RULE, regions.propose(wiring, epilogues, (attended, alone, dequantised))),
    )
    joiner = Joiner(wiring)
    flops: dict[str, int] = {}
    groups: dict[tuple[int, ...], ExtractedGroup] = {}
    for rule, candidates in proposed:
        for positions in candidates:
            if positions in groups:
                continue
            try:
                joined = forms[positions].joined() if positions in forms else joiner.join(positions)
            except LayerError:  # too many results look the same
                continue
            if joined.fingerprint not in flops:
                flops[joined.fingerprint] = costs.flops(joined.layer)
            groups[positions] = ExtractedGroup(
                joined.fingerprint,
                rule,
                positions,
                flops[joined.fingerprint],
                joined.bytes,
                layer=joined.layer,
            )
    groups.update([(group.layers, group) for group in _attentions(attentions)])
    proposed_once = {(group.layers, group.fingerprint) for group in groups.values()}
    written_out = with_numbers(wiring, joiner, functions.RULE, functions.propose(wiring))
    others = [g for g in written_out if (g.layers, g.fingerprint) not in proposed_once]
    return (*groups.values(), *others)


def _attentions(proposals: Iterable[attention.Proposal]) -> Iterable[ExtractedGroup]:
    """The groups of attention, whose layers are not the model's own operators."""
    forms: dict[Form, ExtractedGroup] = {}
    for proposal in proposals:
        form = proposal.form
        if form not in forms:
            layer = canonical(form.layer)
            forms[form] = ExtractedGroup(
                fingerprint_of_canonical(layer),
                attention.RULE,
                (),
                costs.flops(layer),
                costs.moved_bytes(layer),
                layer=layer,
            )
        yield replace(forms[form], layers=proposal.positions)
