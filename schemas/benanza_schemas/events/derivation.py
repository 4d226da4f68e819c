"""What a model is made into before its bound is found: quantised, or split over GPUs."""

from typing import Literal, NamedTuple

Quantised = Literal["", "int8", "fp8", "int4"]
"""The type of a derived model's weights; empty where they stay as they are written."""


class Derivation(NamedTuple):
    """How a model is derived from its file: with weights of another type, as one of
    `tensor_parallel` GPUs runs it, or both. The default is the model as it is written.
    """

    quantised: Quantised = ""
    tensor_parallel: int = 1

    def causes(self) -> tuple[str, ...]:
        """What it adds to the causes of an id: nothing for a model as it is written."""
        quantised = (f"quantised={self.quantised}",) if self.quantised else ()
        split = (f"tensor_parallel={self.tensor_parallel}",) if self.tensor_parallel > 1 else ()
        return quantised + split

    def name_of(self, model: str) -> str:
        """The name of what is derived from a model of this name, such as `llama int4 on 2 GPUs`."""
        on = f"on {self.tensor_parallel} GPUs" if self.tensor_parallel > 1 else ""
        return " ".join(filter(None, (model, self.quantised, on)))


AS_WRITTEN = Derivation()
