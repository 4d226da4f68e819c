"""The error for what can be wrong with a model."""

from benanza_backbone.errors import BenanzaError


class ModelError(BenanzaError):
    """A model can't be ingested. The text is one line and says how to mend that."""
