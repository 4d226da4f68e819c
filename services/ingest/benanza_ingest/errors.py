"""The error for what can be wrong with a model."""

from benanza_backbone.errors import BenanzaError


class ModelError(BenanzaError):
    """A model can't be ingested. The text is one line and says how to mend that."""


class UnfetchedError(ModelError):
    """A model's file isn't to be had. `problem` is the text without the remedy, which is for
    somebody who has just named the model.
    """

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(problem, remedy)
        self.problem = problem

    def __str__(self) -> str:
        return "; ".join(self.args)
