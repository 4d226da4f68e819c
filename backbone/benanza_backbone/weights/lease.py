"""Weights that another process holds, mapped into this one.

    with leased("model.onnx", socket="weights.sock") as weights:
        session = SharedSession(weights)    # benanza_backbone.weights.in_onnxruntime

What is mapped is sealed: nobody can write it, neither this process nor the store. It stays, for
this process, if the store ends.
"""

import mmap
import os
import socket as sockets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from benanza_backbone.errors import BenanzaError
from benanza_backbone.weights.messages import (
    ANSWERS,
    MAX_FILES,
    Answer,
    AskedWeights,
    GrantedLease,
    MessageError,
    OpenedFiles,
    RefusedLease,
    WantedFiles,
    close,
    receive,
    send,
)
from benanza_backbone.weights.packed import PackedError, PackedIndex, PackedWeight, index_of
from benanza_schemas.element_types import FROM_ONNX

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from benanza_backbone.weights.gpu_memory import GpuMapping

PATIENCE_S = 600.0
"""How long the store may take in seconds: it may have to fetch gigabytes first."""

_ADDRESSES = ("http:", "https:", "s3:", "zoo:")


class LeaseError(BenanzaError):
    """There is no lease. The text is one line and says how to mend that."""


class SharedWeights:
    """Packed weights in this process's memory, which can only be read.

    `sha256` is that of all of them as they are packed, `tier` where the store had them. `gpu` is
    the copy on the GPU, if that was asked for.
    """

    def __init__(
        self, memory: mmap.mmap, sha256: str, tier: str, gpu: "GpuMapping | None" = None
    ) -> None:
        self.memory = memory
        self.sha256 = sha256
        self.tier = tier
        self.gpu = gpu

    @cached_property
    def index(self) -> PackedIndex:
        """What is where. Raises `LeaseError` for what no store writes."""
        try:
            return index_of(self.memory)
        except PackedError as error:
            raise LeaseError(f"the store's weights can't be read ({error}); restart it") from error

    @property
    def model(self) -> bytes:
        """The ONNX model, with the packed weights as inputs of its graph."""
        start = self.index.model_offset
        return self.memory[start : start + self.index.model_size]

    @cached_property
    def arrays(self) -> "dict[str, NDArray[Any]]":
        """The packed weights by name, as arrays that can't be written."""
        import numpy as np  # who only holds a lease needs none

        return {
            weight.name: np.frombuffer(self.memory, np.uint8, weight.size, weight.offset)
            .view(_numpy_type(weight))
            .reshape(weight.dims)
            for weight in self.index.weights
        }


@contextmanager
def leased(
    model: str | Path,
    *,
    socket: str | Path,
    sha256: str = "",
    gpu: int | None = None,
    patience_s: float = PATIENCE_S,
) -> Iterator[SharedWeights]:
    """The weights of MODEL, a path or an `http:`, `https:` or `s3:` address, from the store at this
    socket. `sha256` is what the model's file must have; an address needs it. With `gpu`, the number
    of a GPU in this process, they are on it as well.

    The lease ends with the block. Arrays of it that are still there then stay as they are, but for
    those on a GPU; the memory is given back with the last of them. Raises `LeaseError`, and
    `GpuMemoryError` where the GPU can't be used.
    """
    with ExitStack() as stack:
        connection = stack.enter_context(sockets.socket(sockets.AF_UNIX, sockets.SOCK_SEQPACKET))
        connection.settimeout(patience_s)
        asked = AskedWeights(sha256=sha256, gpu="" if gpu is None else _uuid_of(gpu))
        granted, files = _granted(connection, str(model), str(socket), asked)
        try:
            size = os.fstat(files[0]).st_size
            memory = mmap.mmap(files[0], size, mmap.MAP_SHARED, mmap.PROT_READ)
            there = None
            if gpu is not None:
                there = stack.enter_context(_imported(files[1], size, gpu))
        finally:
            close(files)
        yield SharedWeights(memory, granted.sha256, granted.tier, there)
        with suppress(BufferError):  # whoever still has an array keeps the memory
            memory.close()


def _uuid_of(gpu: int) -> str:
    from benanza_backbone.weights.gpu_memory import uuid_of  # It needs an extra.

    return uuid_of(gpu)


def _imported(file: int, size: int, gpu: int) -> "GpuMapping":
    from benanza_backbone.weights.gpu_memory import imported  # It needs an extra.

    return imported(file, size, gpu)


def _granted(
    connection: sockets.socket, model: str, socket: str, asked: AskedWeights
) -> tuple[GrantedLease, Sequence[int]]:
    """The lease, with its files: the weights, and their copy on a GPU where that is asked for."""
    try:
        connection.connect(socket)
        answer, files = _asked(connection, model, asked)
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise LeaseError(
            f"no store of weights answers at {socket}; start one: benanza serve weights"
        ) from error
    except PermissionError as error:
        raise LeaseError(_shut_out(Path(socket))) from error
    except TimeoutError as error:
        raise LeaseError(f"the store at {socket} doesn't answer; see its log") from error
    except (OSError, EOFError, MessageError) as error:
        raise LeaseError(
            f"the store at {socket} gave no answer ({str(error) or 'it ended'}); ask again"
        ) from error
    if isinstance(answer, GrantedLease) and len(files) == 1 + bool(asked.gpu):
        return answer, files
    close(files)
    if isinstance(answer, RefusedLease):
        raise LeaseError(answer.reason)
    raise LeaseError(f"what answers at {socket} is no store of weights of this version")


def _shut_out(socket: Path) -> str:
    """Why this user can't connect to a socket that may be there."""
    for folder in reversed(socket.absolute().parents):
        if not os.access(folder, os.X_OK, effective_ids=True):
            return (
                f"this user may not enter {folder}, and so not ask the store at {socket}; start it "
                "with --socket in a folder that this user may enter"
            )
    return f"this user may not use the store at {socket}; start it with --allow for this user"


def _asked(
    connection: sockets.socket, model: str, asked: AskedWeights
) -> tuple[Answer, Sequence[int]]:
    if model.startswith(_ADDRESSES):
        send(connection, replace(asked, address=model))
        return receive(connection, ANSWERS)
    path = Path(model)
    with _open([path]) as files:
        send(connection, asked, files)
    answer, granted = receive(connection, ANSWERS)
    if isinstance(answer, WantedFiles):
        close(granted)
        with _open([path.parent / _inside(each) for each in answer.locations]) as files:
            send(connection, OpenedFiles(), files)
        answer, granted = receive(connection, ANSWERS)
    return answer, granted


@contextmanager
def _open(paths: Sequence[Path]) -> Iterator[list[int]]:
    if len(paths) > MAX_FILES:
        raise LeaseError(
            f"the model has its weights in {len(paths):,} files, and at most {MAX_FILES} can be "
            "passed; save it again with all external data in one file"
        )
    files: list[int] = []
    try:
        for path in paths:
            try:
                files.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            except OSError as error:
                raise LeaseError(f"{path} can't be read: {error.strerror or error}") from error
        yield files
    finally:
        close(files)


def _inside(location: str) -> str:
    """The location, if it is below the model's folder: a model may name any file."""
    path = PurePosixPath(location)
    if path.is_absolute() or ".." in path.parts:
        raise LeaseError(
            f"the model has weights at {location!r}, outside its folder; save it again with a "
            "plain file name for its external data"
        )
    return location


def _numpy_type(weight: PackedWeight) -> "np.dtype[Any]":
    import numpy as np

    try:
        return np.dtype(FROM_ONNX[weight.onnx_type])
    except TypeError:  # NumPy lacks it, as bfloat16
        from onnx import helper

        return helper.tensor_dtype_to_np_dtype(weight.onnx_type)
