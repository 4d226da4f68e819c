"""Units on integers, products of dynamically quantised values, and activations that only clip."""

from collections.abc import Iterable, Iterator
from itertools import chain

from benanza_ingest.groups.epilogue import Chain, Chains, step
from benanza_ingest.groups.joining import Joiner
from benanza_ingest.groups.quantised.clipped import quantised
from benanza_ingest.groups.quantised.dynamic import chains
from benanza_ingest.groups.quantised.form import form
from benanza_ingest.groups.quantised.fused import fused
from benanza_ingest.groups.quantised.units import PRODUCTS, Unit, dequantising, unit
from benanza_ingest.groups.wiring import OUTSIDE, Wiring

RULE = "quantised"


def propose(wiring: Wiring, epilogues: Chains) -> list[Chain]:
    """The groups, each with its layer; `epilogues` are those of the products of floats."""
    joiner = Joiner(wiring)
    units: dict[tuple[int, ...], Unit] = {}
    for group in chain(_units(wiring), _whole(wiring, fused(wiring, epilogues))):
        units.setdefault(group.positions, group)
    groups = [Chain(group.positions, form(wiring, group)) for group in units.values()]
    groups += [Chain(positions, joiner.named(positions)) for positions in chains(wiring)]
    return groups


def _units(wiring: Wiring) -> Iterator[Unit]:
    readers = {reader for start in dequantising(wiring) for reader in _readers(wiring, start)}
    transposes = readers & {*wiring.of("Transpose")}
    readers.update(reader for start in transposes for reader in _readers(wiring, start))
    for reader in sorted(readers):
        reader_unit = unit(wiring, reader) if wiring.layers[reader].kind != "view" else None
        # Others may read what is dequantised for them, too.
        if reader_unit and all(
            wiring.writers[result] >= reader for result in wiring.results(reader_unit.positions)
        ):
            yield reader_unit
            yield from _biased(wiring, reader_unit)
    for activation in wiring.of("Clip", "Relu"):
        if way := quantised(wiring, activation):
            yield Unit(way, way[:-1])


def _whole(wiring: Wiring, units: Iterable[Unit]) -> Iterator[Unit]:
    """Those of these units that have one result."""
    for group in units:
        if len(wiring.results(group.positions)) == 1:
            yield group


def _readers(wiring: Wiring, position: int) -> set[int]:
    return {
        reader for reader in wiring.readers[wiring.node(position).outputs[0]] if reader != OUTSIDE
    }


def _biased(wiring: Wiring, product_unit: Unit) -> Iterator[Unit]:
    """The same with the bias behind a product."""
    last = product_unit.positions[-1]
    bias = wiring.only_reader(last) if wiring.layers[last].op in PRODUCTS else None
    if bias is None or wiring.layers[bias].op != "Add":
        return
    if step(wiring, wiring.node(last).outputs[0], bias) == "affine":
        yield Unit((*product_unit.positions, bias))
