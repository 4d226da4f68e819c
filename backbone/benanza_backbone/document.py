"""What is given to people and programs alike: typed, and as a JSON document."""

import json
from typing import Any

import msgspec


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What all documents, and the parts of them, have."""

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON has it: maps, lists, text, numbers and nulls.

        A path that isn't Unicode keeps its surrogates, which msgspec's own encoder refuses.
        """
        encoded = json.dumps(msgspec.to_builtins(self, str_keys=True))
        document: dict[str, Any] = json.loads(encoded, parse_constant=lambda _: None)
        return document
