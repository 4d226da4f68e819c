"""Functions that say what known bounds mean: where time goes, and what would save some."""

from collections.abc import Mapping, Sequence

from benanza import arguments
from benanza.api.common import ModelSource, Values, bound_policy, shown
from benanza.quantised.worth import QuantisationWorths
from benanza.results.advise import Advised
from benanza.results.explain import Explanations
from benanza.results.what_if import WhatIfs
from benanza.settings import load
from benanza.tokens.generation import Generation
from benanza.turns import in_turn
from benanza_schemas.events.derivation import Quantised
from benanza_schemas.layer import Accounting, Precision


@in_turn
def explain(
    model: ModelSource,
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    fusion: bool = True,
    accounting: Accounting = "full",
    data: ModelSource | None = None,
) -> Explanations:
    """Where the time of a model's known bounds goes: the calls that they add up.

    `model` may also be a name or an id; nothing is benchmarked. The arguments are the options of
    `benanza explain`. Raises `BenanzaError` for an invalid argument, and if no bound of the model
    is known.
    """
    from benanza.looking.explain import known_explanations

    policy = bound_policy(precision, fusion, accounting)
    explanations = known_explanations(
        load(arguments.folder("data", data)),
        [arguments.model_text("model", model)],
        policy,
        arguments.bound(dims, values),
    )
    return shown(explanations)


@in_turn
def what_if(
    model: ModelSource,
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> WhatIfs:
    """What a model's known bounds would be under other policies: without fusion, with calls of
    libraries alone, in one layout, at another precision; and what its samples take at each batch
    size.

    `model` may also be a name or an id; nothing is benchmarked. The arguments are the options of
    `benanza what-if`. Raises `BenanzaError` as `explain` does.
    """
    from benanza.looking.what_if import known_what_ifs

    what_ifs = known_what_ifs(
        load(arguments.folder("data", data)),
        [arguments.model_text("model", model)],
        arguments.precisions("precision", precision) if precision else (),
        arguments.bound(dims, values),
    )
    return shown(what_ifs)


@in_turn
def what_if_quantised(
    model: ModelSource,
    quantised: Quantised | Sequence[Quantised],
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> QuantisationWorths:
    """What weights of these types would be worth for a model, product by product.

    It compares known bounds of the model and of what `lower_bound` made of it with `quantised`;
    nothing is benchmarked. The arguments are those of `benanza what-if --quantised`. Raises
    `BenanzaError` as `explain` does, and if no bound with such weights is known.
    """
    from benanza.quantised.known import known_quantisations

    worths = known_quantisations(
        load(arguments.folder("data", data)),
        arguments.model_text("model", model),
        arguments.quantised_types("quantised", quantised),
        arguments.precisions("precision", precision) if precision else (),
        arguments.bound(dims, values),
    )
    return shown(worths)


@in_turn
def generation(
    step: ModelSource,
    *,
    prompt: ModelSource | None = None,
    price: float | None = None,
    rate: float | None = None,
    prompt_length: int | tuple[int, int] = 512,
    output_length: int | tuple[int, int] = 128,
    sequences: int | None = None,
    cache_tokens: int | None = None,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Values] | None = None,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> Generation:
    """What the tokens take that a decoder generates, by its known bounds: times to the first and
    for each, tokens a second and, with a price an hour, the cost of a million. With a `rate`, it
    also simulates continuous batching of so many requests a second; lengths are in tokens, from the
    least to the most.

    Models may also be names or ids; nothing is benchmarked. The arguments are the options of
    `benanza generation`. Raises `BenanzaError` as `explain` does.
    """
    from benanza.tokens.known import known_generation
    from benanza.tokens.load import TokenLoad
    from benanza.tokens.under_load import generation_under_load

    asked = (
        load(arguments.folder("data", data)),
        None if prompt is None else arguments.model_text("prompt", prompt),
        arguments.model_text("step", step),
        arguments.precisions("precision", precision) if precision else (),
        arguments.bound(dims, values),
        arguments.price("price", price),
    )
    per_s = arguments.ratio("rate", rate)
    if per_s is None:
        return shown(known_generation(*asked))
    requests = TokenLoad(
        rate_per_s=per_s,
        prompt_tokens=arguments.lengths("prompt_length", prompt_length),
        output_tokens=arguments.lengths("output_length", output_length),
        sequences=None if sequences is None else arguments.whole_number("sequences", sequences),
        cache_tokens=(
            None if cache_tokens is None else arguments.whole_number("cache_tokens", cache_tokens)
        ),
    )
    known = generation_under_load(*asked, requests)
    return shown(known)


@in_turn
def advise(
    model: ModelSource,
    *,
    precision: Precision | Sequence[Precision] = (),
    data: ModelSource | None = None,
) -> Advised:
    """What would make a model faster in the frameworks that `profile` ran it in, and what each
    remedy is worth.

    `model` may also be a name or an id; nothing is run. The arguments are the options of
    `benanza advise`. Raises `BenanzaError` for an invalid argument, if no bound of the model is
    known, and if no framework ran it.
    """
    from benanza.looking.advise import known_advice

    advice = known_advice(
        load(arguments.folder("data", data)),
        [arguments.model_text("model", model)],
        arguments.precisions("precision", precision) if precision else (),
    )
    return shown(advice)
