"""Gives events of older schema versions the fields that today's require.

A field that may be left out needs nothing here: it has a default.
"""

from typing import Any

ARCHITECTURES = 10
"""The version from which on there are architectures. What is older counts as of an architecture of
its own, whose id is the model's.
"""


def upcast(fields: dict[str, Any]) -> None:
    """Changes an event's fields, as `msgpack` reads them, to those of today's version.

    What is no event of an older version stays as it is.
    """
    version, kind = fields.get("schema_version", ARCHITECTURES), fields.get("type")
    if not isinstance(version, int) or version >= ARCHITECTURES or "model_id" not in fields:
        return
    if kind == "ModelIngested":
        fields["architecture_id"] = fields["model_id"]
    elif kind == "BoundUpdated":
        fields["architecture_id"] = fields.pop("model_id")
