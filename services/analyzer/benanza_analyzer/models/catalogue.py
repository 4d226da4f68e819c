"""The catalogue of unique layers: a small number for each fingerprint, with the layer's work.

Numbers save memory and time: a model is an array of them, and one indexing operation looks up the
times of all its layers.
"""

from array import array

NOTHING = 0
"""The number of no layer: stands at positions where a model has no layer that counts."""


class Catalogue:
    """Layers and groups by number, from 1, in the order in which they were first seen.

    `flops` (operations in floating point) and `bytes` (moved) are the work of one execution, by
    number; `least_flops` are the fewest known for its products, and `products` is 1 for what has a
    product, else 0. They follow from the layer's graph, so that all models agree on them. They are
    zero as long as no model has the layer.
    """

    def __init__(self) -> None:
        self.fingerprints = [""]
        self.flops = array("d", [0.0])
        self.bytes = array("d", [0.0])
        self.least_flops = array("d", [0.0])
        self.products = array("b", [0])
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        """The highest number plus one."""
        return len(self.fingerprints)

    def number(self, fingerprint: str) -> int:
        """The number of the layer with this fingerprint; a new layer gets the next number."""
        number = self._numbers.setdefault(fingerprint, len(self.fingerprints))
        if number == len(self.fingerprints):
            self.fingerprints.append(fingerprint)
            for figures in (self.flops, self.bytes, self.least_flops):
                figures.append(0.0)
            self.products.append(0)
        return number

    def describe(
        self,
        number: int,
        *,
        flops: int,
        bytes_moved: int,
        least_flops: int = 0,
        product: bool = False,
    ) -> None:
        """Stores the work of one execution: operations in floating point, and bytes moved. What an
        older version of ingest said, before there were least operations, takes none away.
        """
        self.flops[number] = flops
        self.bytes[number] = bytes_moved
        if product or not self.products[number]:
            self.least_flops[number] = least_flops
            self.products[number] = product
