"""`publish`: models, folders of models and listings of zoos, as events."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

from benanza.errors import about_model
from benanza.installation.configured import configured_log
from benanza.publishing.event import model_published, zoo_of
from benanza.publishing.inline import InlineContent
from benanza.publishing.upload import uploaded
from benanza.publishing.zoo_listing import ListedModel, is_listing, read_listing
from benanza.results.publish import Published, PublishedModel, UnpublishedModel
from benanza_backbone.errors import BenanzaError
from benanza_backbone.service.processor import as_message
from benanza_backbone.settings import Settings
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import limits_of
from benanza_ingest.reading.locations import location_of
from benanza_ingest.reading.parse import parse
from benanza_ingest.reading.source import fetch
from benanza_ingest.resolving.bind import bind
from benanza_schemas.codec import DecodeError, decode, encode
from benanza_schemas.events import MAX_INLINE_MODEL_BYTES, ModelPublished
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation

AT_ONCE = 50
"""Models between two waits for the log: with their content, at most 50 MB."""


class PublishRequest(NamedTuple):
    """What to say of all models. `zoo` None means: `onnx` for `zoo:NAME`, else none. With a
    `granularity` their networks of at most so many layers are timed too. `derivations` are what is
    made of each.
    """

    zoo: str | None = None
    batch_sizes: tuple[int, ...] = ()
    dims: Mapping[str, int] = {}
    granularity: int | None = None
    derivations: Sequence[Derivation] = (AS_WRITTEN,)


class _Found(NamedTuple):
    """A model that was named or `listed`, and its event, or why there is none."""

    model: str
    event: ModelPublished | BenanzaError
    listed: bool = False


def publish(models: Sequence[str], request: PublishRequest, settings: Settings) -> Published:
    """Publishes each MODEL: a model, a folder (every `.onnx` file below it), or a listing.

    To Kafka, or to the embedded log where `BENANZA_KAFKA` is unset. A model that can't be
    published is among the `errors` of the result, and the others go on. What is published
    again has the same event id. Raises `BenanzaError` if the log can't be written; the same
    call again does no harm.
    """
    entries = chain.from_iterable(_found(model, request, settings) for model in models)
    published: list[PublishedModel] = []
    errors: list[UnpublishedModel] = []
    with configured_log(settings) as log:
        while batch := list(islice(entries, AT_ONCE)):
            log.append([as_message(e.event) for e in batch if isinstance(e.event, ModelPublished)])
            for model, event, listed in batch:
                if isinstance(event, ModelPublished):
                    # The embedded log's ingest reads by path what this process does.
                    seen = listed and settings.kafka is None
                    warning = "" if seen else _warning(event, listed=listed)
                    published.append(_published(model, event, warning))
                else:
                    reason = about_model(model, str(event))
                    errors.append(UnpublishedModel(model=model, reason=reason))
    return Published(models=tuple(published), errors=tuple(errors))


def _found(model: str, request: PublishRequest, settings: Settings) -> Iterator[_Found]:
    """What MODEL stands for: one model, or those of a folder or a listing."""
    try:
        if is_listing(model):
            for entry in read_listing(model, limits_of(settings)):
                for event in _listed(entry.model, request):
                    yield _Found(entry.where, event, listed=True)
        elif _is_folder(model):
            for path in _onnx_files(Path(model)):
                name = path.relative_to(model).as_posix().removesuffix(".onnx")
                yield from _each(str(path), fetched_events(str(path), request, settings, name))
        else:
            yield from _each(model, fetched_events(model, request, settings))
    except BenanzaError as error:
        yield _Found(model, error)


def _each(model: str, events: Iterable[ModelPublished | BenanzaError]) -> Iterator[_Found]:
    return (_Found(model, event) for event in events)


def _is_folder(model: str) -> bool:
    """Whether it is one that can be looked into; why others can't be, `fetch` says."""
    try:
        return Path(model).is_dir()
    except OSError:
        return False


def _onnx_files(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.rglob("*.onnx") if path.is_file())
    if not files:
        raise ModelError(f"{folder} holds no .onnx file; name a folder that does")
    return files


def fetched_events(
    model: str, request: PublishRequest, settings: Settings, name: str | None = None
) -> Iterator[ModelPublished | BenanzaError]:
    """The events for a file or an address; it is fetched for its checksum, and checked. A file that
    an event has no room for is uploaded, where the settings say to where.
    """
    limits = limits_of(settings)
    try:
        inline = InlineContent()
        fetched = fetch(model, limits, copy=inline.add)
        # Refuses a damaged file and a misspelt dimension here, where somebody looks.
        bind(parse(fetched.content, limits), next(iter(request.batch_sizes), None), request.dims)
        content, uri = inline.finish(), fetched.uri
        if content is None and uri.startswith("file:") and settings.model_uploads is not None:
            path = Path(location_of(uri).where)
            uri = uploaded(path, fetched.sha256, settings.model_uploads)
        for derivation in request.derivations:
            yield _checked(
                model_published(
                    name=_text(fetched.name if name is None else name),
                    sha256=fetched.sha256,
                    uri=uri,
                    zoo=zoo_of(fetched) if request.zoo is None else request.zoo,
                    batch_sizes=request.batch_sizes,
                    dims=request.dims,
                    content=content,
                    granularity=request.granularity,
                    derivation=derivation,
                )
            )
    except BenanzaError as error:
        yield error


def _listed(
    model: ListedModel | ModelError, request: PublishRequest
) -> Iterator[ModelPublished | BenanzaError]:
    """The events for an entry of a listing, whose checksum is taken on trust: ingest checks it."""
    if isinstance(model, ModelError):
        yield model
        return
    try:
        for derivation in request.derivations:
            yield _checked(
                model_published(
                    name=model.name,
                    sha256=model.sha256,
                    uri=model.uri,
                    zoo=request.zoo or "",
                    batch_sizes=request.batch_sizes,
                    dims=request.dims,
                    granularity=request.granularity,
                    derivation=derivation,
                )
            )
    except BenanzaError as error:
        yield error


def _checked(event: ModelPublished) -> ModelPublished:
    """The event, if services will read it: a name or an address may be too long for one."""
    try:
        decode(encode(event))
    except DecodeError as error:
        raise ModelError(f"{event.name[:80]} can't be published: {error}") from error
    return event


def _text(name: str) -> str:
    """A file's name, which need not be Unicode, as text, which has to."""
    return name.encode(errors="backslashreplace").decode()


def _warning(event: ModelPublished, *, listed: bool) -> str:
    """What to see to where the services fetch the file by its path; empty where they don't."""
    if event.content is not None or not event.uri.startswith("file:"):
        return ""
    sees = (
        "the ingest service must see the same file under that path, in a folder that its "
        "BENANZA_MODEL_SOURCES names"
    )
    if listed:
        return f"{event.name} is listed as {event.uri}: {sees}"
    return (
        f"{event.name}, compressed, is larger than {MAX_INLINE_MODEL_BYTES:,} bytes and travels as "
        f"{event.uri}: {sees}; or set BENANZA_MODEL_UPLOADS to s3://BUCKET/PREFIX, to have such "
        "files uploaded"
    )


def _published(model: str, event: ModelPublished, warning: str) -> PublishedModel:
    return PublishedModel(
        model=model,
        name=event.name,
        zoo=event.zoo,
        sha256=event.sha256,
        uri=event.uri,
        inline=event.content is not None,
        batch_sizes=event.batch_sizes,
        dims=event.dims,
        event_id=event.event_id,
        warning=warning,
    )
