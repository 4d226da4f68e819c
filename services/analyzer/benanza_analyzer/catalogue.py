"""The catalogue of unique layers: a small number for each fingerprint, and its work.

Numbers make models small and sums fast: a model is arrays of them, and what is known of
layers is looked up for all of a model's layers at once.
"""

from array import array

NOTHING = 0
"""The number that is no layer's: stands where a model has none that counts."""


class Catalogue:
    """Layers and groups by number, from 1, in the order in which they were first seen.

    `flops` and `bytes` are the work of one execution, by number. They follow from the layer's
    graph, so that all models agree on them; they are zero until a model has the layer.
    """

    def __init__(self) -> None:
        self.fingerprints = [""]
        self.flops = array("d", [0.0])
        self.bytes = array("d", [0.0])
        self._numbers: dict[str, int] = {}

    def __len__(self) -> int:
        """One more than the highest number."""
        return len(self.fingerprints)

    def number(self, fingerprint: str) -> int:
        """The number of this layer, from now on."""
        number = self._numbers.setdefault(fingerprint, len(self.fingerprints))
        if number == len(self.fingerprints):
            self.fingerprints.append(fingerprint)
            self.flops.append(0.0)
            self.bytes.append(0.0)
        return number

    def describe(self, number: int, *, flops: int, bytes_moved: int) -> None:
        """Says how much work one execution of the layer is."""
        self.flops[number] = flops
        self.bytes[number] = bytes_moved
