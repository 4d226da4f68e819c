"""Tables on a terminal of 80 characters: columns are left out, and no line is folded."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from benanza.looking.bounds import known_bounds, known_history
from benanza.looking.explain import known_explanations
from benanza.looking.layers import known_layers
from benanza.looking.questions import known_answers
from benanza.looking.what_if import known_what_ifs
from benanza.render.answers.explain import print_explanations
from benanza.render.answers.layers import print_layers
from benanza.render.answers.questions import print_answers
from benanza.render.answers.what_if import print_what_ifs
from benanza.render.bounds import print_known_bounds
from benanza.render.history import print_history
from benanza.request import BoundPolicy
from benanza_backbone.settings import Settings
from tests.benanza.recorded import MODELS, recorded_models

pytestmark = pytest.mark.integration

WIDTH = 80
FP16 = BoundPolicy(("fp16",))
MODEL = "squeezenet"


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return recorded_models(tmp_path_factory.mktemp("width") / "data")


def lines(printed: Callable[[Console], None]) -> list[str]:
    """What a terminal of this width shows."""
    stream = io.StringIO()
    printed(Console(file=stream, width=WIDTH, force_terminal=True, color_system=None))
    return stream.getvalue().splitlines()


def test_no_table_is_wider_than_its_terminal_or_folded(settings: Settings) -> None:
    bounds = known_bounds(settings, (), FP16, {}, None)
    explanations = known_explanations(settings, [MODEL], FP16, {})
    layers = known_layers(settings, [MODEL], ["fp16"])
    answers = known_answers(settings, MODELS, ["fp16"], {})
    what_ifs = known_what_ifs(settings, [MODEL], ["fp16"], {})
    history = known_history(settings, MODEL, FP16, {})
    for printed, first, rows in (
        (lambda to: print_known_bounds(to, bounds), "model", len(MODELS)),
        (lambda to: print_explanations(to, explanations, 5), "operators", 5),
        (lambda to: print_layers(to, layers, 5), "operators", 5),
        (lambda to: print_answers(to, answers), "model", len(MODELS)),
        (lambda to: print_what_ifs(to, what_ifs), "what if", 1),
        (lambda to: print_history(to, history, 3), "computed at", 1),
    ):
        shown = lines(printed)
        assert max(map(len, shown)) <= WIDTH
        begin = next(at for at, line in enumerate(shown) if line.strip().startswith(first))
        assert set(shown[begin + 1].strip()) == {"─"}, shown[begin]
        assert all(line.strip() for line in shown[begin + 2 : begin + 2 + rows])
