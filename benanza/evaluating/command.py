"""`benanza evaluate`: models under load, stored, and beside their bounds."""

from benanza.evaluating.beside import alone, beside
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.results import EvaluatedModel
from benanza.evaluating.samples import SampleSource
from benanza.installation.configured import known_store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of


def evaluate(
    request: EvaluationRequest, settings: Settings, source: SampleSource | None = None
) -> EvaluatedModel:
    """Runs the model under the scenario, and sets that beside its bound where one is known. Raises
    `BenanzaError` as `evaluated` does, without LoadGen, and if the store can't be used.
    """
    try:
        from benanza.evaluating.evaluate import evaluated
    except ImportError as error:
        raise BenanzaError(
            f"LoadGen can't be loaded: {error}; say: pip install 'benanza[evaluate]'"
        ) from error
    evaluation = evaluated(request, source, limits_of(settings))
    if settings.kafka is None and not settings.data.exists():
        return alone(evaluation)
    with known_store(settings) as store:
        return beside(store, evaluation)
