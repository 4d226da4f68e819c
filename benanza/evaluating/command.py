"""`benanza evaluate`: models under load, stored, and beside their bounds."""

from benanza.evaluating.beside import beside
from benanza.evaluating.request import EvaluationRequest
from benanza.evaluating.results import EvaluatedModel
from benanza.evaluating.samples import SampleSource
from benanza.evaluating.stored import stored
from benanza.installation.configured import configured_log, known_store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_ingest.limits import limits_of


def evaluate(
    request: EvaluationRequest, settings: Settings, source: SampleSource | None = None
) -> EvaluatedModel:
    """Runs the model under the scenario, appends what comes of it to the log, and sets that beside
    its bound where one is known. Raises `BenanzaError` as `evaluated` does, without LoadGen, and if
    the log or the store can't be used.
    """
    try:
        from benanza.evaluating.evaluate import evaluated
    except ImportError as error:
        raise BenanzaError(
            f"LoadGen can't be loaded: {error}; say: pip install 'benanza[evaluate]'"
        ) from error
    evaluation = evaluated(request, source, limits_of(settings))
    with configured_log(settings) as log:
        log.append([as_message(stored(evaluation))])
    with known_store(settings) as store:
        return beside(store, evaluation)
