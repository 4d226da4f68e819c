"""What is given to people and programs alike: typed, and as a JSON document."""

from typing import Any

import msgspec


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What all documents, and the parts of them, have."""

    def to_dict(self) -> dict[str, Any]:
        """The document as JSON has it: maps, lists, text, numbers and nulls."""
        document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return document
