"""Tables in a notebook for what the Python API returns."""

from benanza.evaluating.results import EvaluatedModel
from benanza.gating.results import Gate
from benanza.predicting.results import PredictedBounds
from benanza.quantised.worth import QuantisationWorths
from benanza.render.answers.advise import advice_html
from benanza.render.answers.explain import explanations_html
from benanza.render.answers.gate import gate_html
from benanza.render.answers.generation import generation_html
from benanza.render.answers.layers import layers_html
from benanza.render.answers.predicted import predictions_html
from benanza.render.answers.profile import profiles_html
from benanza.render.answers.quantised import quantisations_html
from benanza.render.answers.questions import answers_html
from benanza.render.answers.trace import comparison_of_traces_html, trace_html
from benanza.render.answers.what_if import what_ifs_html
from benanza.render.bounds import bounds_html, known_bounds_html, lower_bounds_html
from benanza.render.comparison import comparison_html
from benanza.render.history import history_html
from benanza.render.inspect import inspection_html, weights_html
from benanza.render.load.evaluation import evaluation_html
from benanza.render.publish import published_html
from benanza.render.status import status_html
from benanza.results.advise import Advised
from benanza.results.bounds import Bounds, Comparison, History, KnownBounds, LowerBounds
from benanza.results.explain import Explanations
from benanza.results.inspect import InspectedWeights, Inspection, KnownLayers
from benanza.results.operating import Status
from benanza.results.profile import Profiles
from benanza.results.publish import Published
from benanza.results.questions import Answers
from benanza.results.result import SHOWN_BY
from benanza.results.what_if import WhatIfs
from benanza.tokens.generation import Generation
from benanza.tracing.results import TraceAnswer, TraceComparison


def show_tables() -> None:
    """Has notebooks show these results as tables from now on."""
    SHOWN_BY[Inspection] = inspection_html
    SHOWN_BY[InspectedWeights] = weights_html
    SHOWN_BY[Bounds] = bounds_html
    SHOWN_BY[KnownBounds] = known_bounds_html
    SHOWN_BY[PredictedBounds] = predictions_html
    SHOWN_BY[Comparison] = comparison_html
    SHOWN_BY[History] = history_html
    SHOWN_BY[KnownLayers] = layers_html
    SHOWN_BY[Status] = status_html
    SHOWN_BY[LowerBounds] = lower_bounds_html
    SHOWN_BY[Explanations] = explanations_html
    SHOWN_BY[WhatIfs] = what_ifs_html
    SHOWN_BY[QuantisationWorths] = quantisations_html
    SHOWN_BY[Generation] = generation_html
    SHOWN_BY[Profiles] = profiles_html
    SHOWN_BY[Gate] = gate_html
    SHOWN_BY[EvaluatedModel] = evaluation_html
    SHOWN_BY[Advised] = advice_html
    SHOWN_BY[Answers] = answers_html
    SHOWN_BY[Published] = published_html
    SHOWN_BY[TraceAnswer] = trace_html
    SHOWN_BY[TraceComparison] = comparison_of_traces_html
