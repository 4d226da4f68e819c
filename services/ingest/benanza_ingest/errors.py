"""What can be wrong with a model that is handed in."""

from benanza_backbone.errors import BenanzaError


class ModelError(BenanzaError):
    """A model that can't be ingested. The text is one line and says how to mend it."""
