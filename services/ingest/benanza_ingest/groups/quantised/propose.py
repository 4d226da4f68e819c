"""Units on integers, products of dynamically quantised values, and activations that only clip."""

from collections.abc import Iterator

from benanza_ingest.groups.epilogue import Chain, step
from benanza_ingest.groups.joining import Joiner
from benanza_ingest.groups.quantised.clipped import quantised
from benanza_ingest.groups.quantised.dynamic import chains
from benanza_ingest.groups.quantised.form import form
from benanza_ingest.groups.quantised.units import PRODUCTS, Unit, dequantising, unit
from benanza_ingest.groups.wiring import OUTSIDE, Wiring

RULE = "quantised"


def propose(wiring: Wiring) -> list[Chain]:
    """The groups, each with its layer."""
    joiner = Joiner(wiring)
    groups = [Chain(each.positions, form(wiring, each)) for each in _units(wiring)]
    groups += [Chain(found, joiner.named(found)) for found in chains(wiring)]
    return groups


def _units(wiring: Wiring) -> Iterator[Unit]:
    readers = {at for start in dequantising(wiring) for at in _readers(wiring, start)}
    transposes = readers & {*wiring.of("Transpose")}
    readers.update(at for start in transposes for at in _readers(wiring, start))
    for at in sorted(readers):
        found = unit(wiring, at) if wiring.layers[at].kind != "view" else None
        # Others may read what is dequantised for them, too.
        if found and all(wiring.writers[each] >= at for each in wiring.results(found.positions)):
            yield found
            yield from _biased(wiring, found)
    for at in wiring.of("Clip", "Relu"):
        if way := quantised(wiring, at):
            yield Unit(way, way[:-1])


def _readers(wiring: Wiring, position: int) -> set[int]:
    return {at for at in wiring.readers[wiring.node(position).outputs[0]] if at != OUTSIDE}


def _biased(wiring: Wiring, found: Unit) -> Iterator[Unit]:
    """The same with the bias behind a product."""
    last = found.positions[-1]
    bias = wiring.only_reader(last) if wiring.layers[last].op in PRODUCTS else None
    if bias is None or wiring.layers[bias].op != "Add":
        return
    if step(wiring, wiring.node(last).outputs[0], bias) == "affine":
        yield Unit((*found.positions, bias))
