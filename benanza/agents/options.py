"""An evaluation's request as an event holds it: options by name, each as JSON."""

from collections.abc import Mapping

import msgspec

from benanza.evaluating.request import EvaluationRequest
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events import EvaluationRequested

APART = ("model", "framework", "precision", "scenario", "dims")
"""What an event has in fields of its own."""


def options_of(request: EvaluationRequest) -> dict[str, str]:
    """The other fields of a request."""
    return {
        name: msgspec.json.encode(getattr(request, name)).decode()
        for name in request.__struct_fields__
        if name not in APART
    }


def request_of(requested: EvaluationRequested, path: str) -> EvaluationRequest:
    """The request, of the model in this file.

    Raises `BenanzaError` for options that this version doesn't know, and for those that the event
    has in fields of its own: a model that an option names was not fetched as it may be.
    """
    fields: dict[str, object] = {
        "model": path,
        "framework": requested.constraints.framework,
        "precision": requested.precision,
        "scenario": requested.scenario,
        "dims": requested.published.dims,
    }
    try:
        unknown = requested.options.keys() - ({*EvaluationRequest.__struct_fields__} - {*APART})
        if unknown:
            raise BenanzaError(
                f"this agent's version of benanza knows no {', '.join(sorted(unknown))}; upgrade it"
            )
        return msgspec.convert(_decoded(requested.options) | fields, EvaluationRequest)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        raise BenanzaError(f"its options can't be read: {error}") from error


def _decoded(options: Mapping[str, str]) -> dict[str, object]:
    return {name: msgspec.json.decode(text.encode()) for name, text in options.items()}
