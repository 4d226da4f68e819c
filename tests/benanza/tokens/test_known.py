"""What tokens take, from bounds by the recording of an H200: any models stand for a decoder."""

import io
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

from benanza.looking.explain import known_explanations
from benanza.looking.model_ids import StoredFile
from benanza.looking.stored_bound import StoredBound
from benanza.render.answers.generation import print_generation
from benanza.request import BoundPolicy
from benanza.tokens.generation import Generation
from benanza.tokens.known import _of_one_file, known_generation
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings
from benanza_schemas.events.derivation import AS_WRITTEN
from tests.benanza.recorded import recorded_models

PROMPT = "alexnet"

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Where models have bounds by the recording."""
    return recorded_models(tmp_path_factory.mktemp("generation") / "data")


def generation(
    settings: Settings,
    *,
    model: str = "squeezenet",
    prompt: str | None = None,
    price: float | None = None,
) -> Generation:
    return known_generation(settings, prompt, model, ["fp16"], {}, price)


def test_each_sequence_of_a_step_gets_a_token(recorded: Settings) -> None:
    (point,) = generation(recorded).points
    bound, attainable = point.times[:2]
    assert (bound.source, attainable.source) == ("bound", "attainable")
    assert bound.time_per_token_us == point.step.sequential_us
    assert attainable.time_per_token_us == point.step.attainable_us
    assert bound.time_per_token_us is not None
    assert bound.tokens_per_s == pytest.approx(point.step.batch * 1e6 / bound.time_per_token_us)
    assert (bound.time_to_first_token_us, bound.cost_per_million) == (None, None)


@pytest.mark.parametrize(("batch", "points"), [(1, 1), (8, 0)])
def test_the_batch_is_a_dimension_too(recorded: Settings, batch: int, points: int) -> None:
    dims = {"batch": batch}
    known = known_generation(recorded, None, "squeezenet", ["fp16"], dims, None)
    assert len(known.points) == points


def test_a_price_makes_a_cost_of_each_token(recorded: Settings) -> None:
    """At a price of 3,600 an hour, a second costs one."""
    (point,) = generation(recorded, price=3600.0).points
    for times in point.times:
        assert times.tokens_per_s is not None
        assert times.cost_per_million == pytest.approx(1e6 / times.tokens_per_s)


def test_the_first_token_comes_after_the_prompt(recorded: Settings) -> None:
    (point,) = generation(recorded, prompt=PROMPT).points
    assert point.prompt is not None
    assert point.prompt.model == PROMPT
    first = [times.time_to_first_token_us for times in point.times[:2]]
    assert first == [point.prompt.sequential_us, point.prompt.attainable_us]


def test_the_kinds_of_calls_make_up_the_step(recorded: Settings) -> None:
    (point,) = generation(recorded).points
    assert sum(kind.share for kind in point.kinds) == pytest.approx(1)
    assert point.kinds[0].kind == "products"
    assert [kind.share for kind in point.kinds] == sorted(
        (kind.share for kind in point.kinds), reverse=True
    )


def test_large_dense_layers_are_limited_by_their_weights(recorded: Settings) -> None:
    """At batch 1 those of AlexNet read 117 MB, and multiply each weight once."""
    (point,) = generation(recorded, model=PROMPT).points
    (explained,) = known_explanations(recorded, [PROMPT], BoundPolicy(("fp16",)), {}).explanations
    dense = sum(call.share for call in explained.calls if "Gemm" in call.op)
    shares = {each.limit: each.share for each in point.limits}
    assert shares["weights"] == pytest.approx(dense)
    assert shares["arithmetic"] > 0.5  # convolutions
    assert 0 < shares["launches"] < 0.1  # pooling, the softmax
    assert sum(shares.values()) == pytest.approx(1)
    assert list(shares.values()) == sorted(shares.values(), reverse=True)


def test_energy_is_that_of_the_calls_at_the_power_that_was_read(recorded: Settings) -> None:
    (point,) = generation(recorded).points
    bound, attainable = point.times[:2]
    assert bound.time_per_token_us is not None
    assert bound.joules_per_token is not None
    watts = bound.joules_per_token / bound.time_per_token_us * 1e6
    assert 75 < watts < 700  # an H200 at rest, and its limit
    assert attainable.joules_per_token is None


def test_the_energy_of_a_split_step_is_that_of_all_its_devices(
    recorded: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def joules() -> float:
        (point,) = generation(recorded).points
        return point.times[0].joules_per_token or 0.0

    whole, of = joules(), StoredBound.of

    def split(store: Store, bound: ModelBound) -> StoredBound:
        stored = of(store, bound)
        return stored._replace(model=replace(stored.model, tensor_parallel=4))

    monkeypatch.setattr(StoredBound, "of", split)
    assert joules() == pytest.approx(4 * whole)


def test_a_name_of_several_files_is_refused(recorded: Settings) -> None:
    (point,) = generation(recorded).points
    files = {digit * 32: StoredFile(digit * 64, AS_WRITTEN) for digit in "ab"}
    bounds = [replace(point.step, model_id=identity) for identity in files]
    with pytest.raises(BenanzaError, match=r"2 files have the name step: .*\(a{12} or b{12}\)"):
        _of_one_file("step", files, bounds)
    _of_one_file("step", files, bounds[:1])


def test_a_model_without_a_bound_is_refused(recorded: Settings, tmp_path: Path) -> None:
    with pytest.raises(BenanzaError):
        known_generation(recorded, None, "nothing", ["fp16"], {}, None)


def test_it_is_printed_with_what_is_known(recorded: Settings) -> None:
    shown = printed(generation(recorded, prompt=PROMPT, price=2.5))
    columns = ("sequences", "first token", "each token", "tokens/s", "cost of a million")
    for column in (*columns, "J a token", "most of the step", "most limited by"):
        assert column in shown
    assert f"first token: {PROMPT}" in shown
    assert "first token" not in printed(generation(recorded))


def test_a_bound_that_lacks_layers_is_left_out_and_named(recorded: Settings) -> None:
    known = generation(recorded)
    lacking = replace(known.points[0].step, partial=True)
    said = printed(replace(known, points=(), partial=(lacking,)))
    assert "left out, as 1 bound lacks layers: squeezenet, batch 1" in said


def printed(known: Generation) -> str:
    console = Console(width=140, file=io.StringIO())
    print_generation(console, known)
    written: io.StringIO = console.file  # type: ignore[assignment]
    return written.getvalue()
