"""The error for what can be wrong with a model."""

from benanza_backbone.errors import BenanzaError
from benanza_schemas.one_line import one_line


class ModelError(BenanzaError):
    """A model can't be ingested. The text is one line and says how to mend that.

    Names from a model may be in it: `one_line` makes what is long or no text harmless.
    """

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text))


class UnfetchedError(ModelError):
    """A model's file isn't to be had. `problem` is the text without the remedy, which is for
    somebody who has just named the model.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
