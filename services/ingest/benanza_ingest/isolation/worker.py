"""The process that fetches models, or takes them apart, each in a child of its own.

It is started as `python -m benanza_ingest.isolation.worker FD`. FD is the file descriptor of a
socket to ingest.
"""

import gc
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

# What some models need: imported here, once, and not in each child.
import onnx.parser
import onnx.reference.ops

from benanza_backbone.confining import readable
from benanza_backbone.confining.confine import MEMORY_BYTES, confine, confine_child
from benanza_backbone.model_sources import FolderSource, parse_sources
from benanza_backbone.worker import frames
from benanza_ingest import core
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.extracted import ExtractedModel
from benanza_ingest.isolation.answers import packed
from benanza_ingest.isolation.forking import answer_in_children
from benanza_ingest.isolation.messages import (
    MOST_ANSWERS_BYTES,
    MOST_REQUEST_BYTES,
    Fetched,
    FetchModel,
    Reach,
    Refused,
    Request,
    encoder,
    reaches,
    requests,
)
from benanza_ingest.limits import Limits
from benanza_ingest.published import content_of
from benanza_ingest.reading.allowed import Allowed
from benanza_ingest.reading.source import fetch
from benanza_schemas.events import ModelPublished

Extract = Callable[[ModelPublished, bytes, Limits], Iterable[ExtractedModel]]
"""What `core.extracted` does."""


_SMALL = onnx.parser.parse_model("""
<ir_version: 9, opset_import: ["": 20]>
small (float[1,3,8,8] x, float[4,3,3,3] w, float[36,5] v) => (float[1,5] y) {
    a = Conv (x, w)
    b = Relu (a)
    c = MaxPool <kernel_shape = [2, 2]> (b)
    d = Flatten (c)
    y = Gemm (d, v)
}
""").SerializeToString()


def answer(parent: int, allowed: Allowed, taking_apart: Extract = core.extracted) -> None:
    """Reads one request from this file descriptor, and answers it."""
    request = requests.decode(frames.receive(parent, MOST_REQUEST_BYTES))
    name = request.published.name
    try:
        for message in _messages(parent, request, allowed, taking_apart):
            frames.send(parent, message)
    except ModelError as error:
        refusal = str(error)
    except MemoryError:
        refusal = (
            f"{name} takes more than {MEMORY_BYTES:,} bytes of memory; publish a smaller model"
        )
    except Exception as error:  # noqa: BLE001  # whatever it is, ingest has to hear of it
        place = traceback.extract_tb(error.__traceback__)[-1]
        refusal = (
            f"{name} shows a defect of ingest ({type(error).__name__}: {error}, in "
            f"{Path(place.filename).name}:{place.lineno}); report it, with the model"
        )
    else:
        return
    frames.send(parent, encoder.encode(Refused(str(ModelError(refusal)))))


def main(parent: int, answer: Callable[[int, Allowed], None] = answer) -> None:
    """Confines this process, and lets a child `answer` each request until ingest closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for ingest to act on.
    with socket.socket(fileno=parent) as ingest:
        reach = reaches.decode(frames.receive(parent, MOST_REQUEST_BYTES))
        allowed = Allowed(None if reach.sources is None else parse_sources(reach.sources))
        confinement = confine(_readable(reach, allowed), reach.network)
        this = os.getpid()

        def confined_answer(asking: int) -> None:
            confine_child(this, reach.network)
            warm_up()
            answer(asking, allowed)

        gc.disable()  # A child ends before there is much to find, and would copy all it looks at.
        warm_up()
        frames.send(parent, encoder.encode(confinement))
        answer_in_children(ingest, confined_answer)


def warm_up() -> None:
    """Does once what each model makes this process do once: to look operators up, and in a child to
    get pages of its own. Children do so while they wait for a model.
    """
    encoder.encode(packed(extract(_SMALL)))


def _messages(
    parent: int, request: Request, allowed: Allowed, taking_apart: Extract
) -> Iterator[bytes | bytearray]:
    published, limits = request.published, request.limits
    if isinstance(request, FetchModel):
        content = content_of(published, limits, partial(fetch, allowed=allowed))
        yield encoder.encode(Fetched())
        yield content
        return
    if published.content is not None:
        content = content_of(published, limits)
    else:
        content = bytes(frames.receive(parent, limits.model_bytes))
    left = MOST_ANSWERS_BYTES
    for model in taking_apart(published, content, limits):
        message = encoder.encode(packed(model))
        left -= len(message)
        if left < 0:
            raise ModelError(
                f"the layers of {published.name} take over {MOST_ANSWERS_BYTES:,} bytes; publish "
                "it several times, with some of the batch sizes each, or a smaller model"
            )
        yield message


def _readable(reach: Reach, allowed: Allowed) -> Iterator[Path]:
    yield from readable.of_program()
    if reach.network:
        yield from readable.of_network()
        if allowed.sources is None:
            yield Path("/")
        else:
            yield from (
                source.folder for source in allowed.sources if isinstance(source, FolderSource)
            )


if __name__ == "__main__":
    main(int(sys.argv[1]))
