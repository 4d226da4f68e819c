"""What is derived of a model has a name and ids of its own."""

import pytest

from benanza_schemas.events.derivation import AS_WRITTEN, Derivation


@pytest.mark.parametrize(
    ("derivation", "name", "causes"),
    [
        (AS_WRITTEN, "llama", ()),
        (Derivation("int4"), "llama int4", ("quantised=int4",)),
        (Derivation("", 2), "llama on 2 GPUs", ("tensor_parallel=2",)),
        (Derivation("fp8", 4), "llama fp8 on 4 GPUs", ("quantised=fp8", "tensor_parallel=4")),
    ],
)
def test_names_and_causes(derivation: Derivation, name: str, causes: tuple[str, ...]) -> None:
    assert derivation.name_of("llama") == name
    assert derivation.causes() == causes
