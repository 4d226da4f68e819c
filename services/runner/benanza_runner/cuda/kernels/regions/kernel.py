"""The kernel of a region: sections side by side, each of them a range of blocks."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from benanza_runner.cuda.calls.region import Given, Region
from benanza_runner.cuda.elements import IN_MEMORY
from benanza_runner.cuda.kernels.regions.body import Names
from benanza_runner.cuda.kernels.regions.elements import OperandMemory
from benanza_runner.cuda.kernels.regions.section import RegionResult, sections
from benanza_runner.cuda.kernels.regions.section_writer import SectionWriter
from benanza_runner.cuda.kernels.regions.threads import SectionSize, Threads
from benanza_runner.cuda.kernels.source.float8 import CONVERSIONS
from benanza_runner.cuda.kernels.source.storage import PREAMBLE
from benanza_schemas.layer import Precision

NAME = "region"

_PACK = """
template <typename U, int N> struct __align__(sizeof(U) * N > 16 ? 16 : sizeof(U) * N) Pack {
  U v[N];
};
"""


class KernelSource(NamedTuple):
    """The text, for tiles of so many packs, and the sizes of its sections.

    Parameters are the operands in order, and the results in order. `by_row` says whether some
    operand has the same elements of rows next to each other, rather than those of a row;
    `loads` how often a thread loads something for the packs that it computes in a turn, and
    `loads_by_element` how often that is a single element.
    """

    text: str
    tile: int
    sections: tuple[SectionSize, ...]
    by_row: bool
    loads: int
    loads_by_element: int

    def compiled_for(self, threads: Threads) -> str:
        """The text for blocks of such threads."""
        if len(self.sections) == 1 and not self.sections[0].reduces:
            # Then a kernel that is compiled for one thread runs in blocks of any number of them.
            threads = threads._replace(lanes=1)
        blocks = "".join(
            f"#define BLOCKS{number} {section.blocks(threads)}u\n"
            for number, section in enumerate(self.sections)
        )
        return blocks + threads.definitions() + self.text


class KernelWriter:
    """Writes kernels of a region.

    `strides` holds the strides in memory of each operand, in elements.
    """

    def __init__(
        self,
        region: Region,
        strides: Mapping[str, tuple[int, ...]],
        results: Sequence[RegionResult],
        precision: Precision,
    ) -> None:
        self._region = region
        self._operands = {
            name: OperandMemory(f"x{number}", strides[name]) for number, name in enumerate(strides)
        }
        given = {v.name: v for v in region.values if isinstance(v, Given)}
        self._parameters = [
            f"const {IN_MEMORY.get(given[name].element, 'T')}* __restrict__ x{number}"
            for number, name in enumerate(strides)
        ]
        for number, result in enumerate(results):
            kind = IN_MEMORY.get(region.values[result.value].element, "T")
            self._parameters.append(f"{kind}* __restrict__ q{number}")
        self._sections = sections(region, tuple(results), self._operands)
        self._precision = precision

    def written(self, width: int, tile: int = 1) -> KernelSource:
        """A kernel in which each thread computes up to `width` elements at once, and where nothing
        is reduced so many times `tile`, next to each other on the axis before the fastest.

        Raises `UnsupportedError` if a result needs a reduction for other rows than its own.
        """
        names = Names()
        parts = []
        sizes = []
        by_row = False
        loads = loads_by_element = 0
        for number, section in enumerate(self._sections):
            writer = SectionWriter(self._region, self._operands, section, width, names, tile)
            lines = "\n    ".join(writer.lines())
            sizes.append(writer.size)
            by_row |= writer.by_row
            loads += writer.loads
            loads_by_element += writer.loads_by_element
            parts.append(
                f"  if (block < BLOCKS{number}) {{\n    {lines}\n    return;\n  }}\n"
                f"  block -= BLOCKS{number};"
            )
        text = f"""{PREAMBLE[self._precision]}{CONVERSIONS}{_PACK}
extern "C" __global__ void CLUSTER_DIMS {NAME}({", ".join(self._parameters)}) {{
  unsigned block = blockIdx.x / CLUSTER;
{chr(10).join(parts)}
}}
"""
        return KernelSource(text, tile, tuple(sizes), by_row, loads, loads_by_element)
