"""What a shell may complete: models, precisions and systems, as far as they are known.

Who presses a key waits for the answer, and wants no errors: what can't be looked up isn't offered.
"""

from collections.abc import Iterable

import click
from click.shell_completion import CompletionItem

from benanza_backbone.clickhouse.queries import DESCRIBED_SYSTEMS, MODEL_NAMES
from benanza_backbone.errors import BenanzaError

ZOO = "zoo:"
DECODERS = "decoder:"


def beginning(incomplete: str, candidates: Iterable[str]) -> list[CompletionItem]:
    """Those of the candidates that begin so."""
    return [
        CompletionItem(candidate) for candidate in candidates if candidate.startswith(incomplete)
    ]


def last_of(incomplete: str, candidates: Iterable[str]) -> list[CompletionItem]:
    """Lists separated by commas, of which the last part is completed by a candidate that the list
    doesn't have yet.
    """
    listed, comma, last = incomplete.rpartition(",")
    left = [candidate for candidate in candidates if candidate not in listed.split(",")]
    return beginning(
        incomplete, [listed + comma + candidate for candidate in left if candidate.startswith(last)]
    )


def models(incomplete: str) -> list[CompletionItem]:
    """Files, which the shell finds, and models of the zoo once it is named."""
    files = [CompletionItem(incomplete, type="file")]
    if not incomplete or not (ZOO.startswith(incomplete) or incomplete.startswith(ZOO)):
        return files
    # Shells forget what comes before the item for files.
    return files + beginning(incomplete, (ZOO + name for name in _zoo_names(incomplete)))


def _zoo_names(incomplete: str) -> list[str]:
    """Those of the zoo; decoders, whose names take a second, once they are meant."""
    if incomplete.startswith(ZOO + DECODERS):
        from benanza_ingest.decoders.forms import decoder_names

        return [*decoder_names()]
    from benanza_ingest.reading.zoo import exported_models, zoo_names

    return [*zoo_names(), *exported_models(), DECODERS]


def known_models(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """What `models` gives, and the names in the store."""
    return models(incomplete) + beginning(incomplete, _known(ctx, MODEL_NAMES))


def known_systems(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The ids of the systems in the store."""
    return beginning(incomplete, _known(ctx, DESCRIBED_SYSTEMS))


def _known(ctx: click.Context, query: str) -> list[str]:
    """What a query of one column finds in the store that the settings name, as it is there."""
    from benanza.installation.embedded import store_as_it_is
    from benanza.settings import load

    try:
        settings = load(ctx.params.get("data"))
        if settings.kafka is None and not settings.data.exists():
            return []
        with store_as_it_is(settings) as store:
            return [known for row in store.query(query) for known in row.values()]
    except BenanzaError:
        return []
