"""What goes over the socket between the referee and the worker, as MessagePack."""

import msgspec

from benanza_runner.submitted.signature import Signature


class Begin(msgspec.Struct, frozen=True, tag=True):
    """The first message: maps the memory, and confines the process. Answered with `Begun`. In the
    `folder`, if there is one, the process may write until the kernel is loaded.
    """

    kernel: str
    memory: str
    folder: str
    signature: Signature
    memory_bytes: int


class LoadKernel(msgspec.Struct, frozen=True, tag=True):
    """LoadKernel the kernel. Answered with `Done`."""


class Prepare(msgspec.Struct, frozen=True, tag=True):
    """The weights are other ones. Answered with `Done`."""


class Try(msgspec.Struct, frozen=True, tag=True):
    """Call the kernel once, and look at what it returns. Answered with `Done`."""


class Arrange(msgspec.Struct, frozen=True, tag=True):
    """Inputs change by this seed before each call from now on. Calls the kernel once; or a function
    that does nothing, if it is `empty`. A GPU is given so many `calls` at a time; all but the first
    one have the same inputs there, if these are `steady`. Answered with `Done`.
    """

    seed: int
    empty: bool = False
    calls: int = 1
    steady: bool = False


class Run(msgspec.Struct, frozen=True, tag=True):
    """Call it until the flag is set. Answered with `CallsMade`."""


class FetchArrays(msgspec.Struct, frozen=True, tag=True):
    """Lay into the shared memory what the device holds: inputs, weights, and outputs. Answered with
    `Done`.
    """


class Begun(msgspec.Struct, frozen=True, tag=True):
    """The process is confined, but for what the system lacks."""

    missing: tuple[str, ...]


class Done(msgspec.Struct, frozen=True, tag=True):
    """It went well."""


class CallsMade(msgspec.Struct, frozen=True, tag=True):
    """So many calls were made."""

    calls: int


class KernelRefused(msgspec.Struct, frozen=True, tag=True):
    """What the kernel did wrong."""

    reason: str


Request = Begin | LoadKernel | Prepare | Try | Arrange | Run | FetchArrays
Reply = Begun | Done | CallsMade | KernelRefused

MOST_BYTES = 1_000_000

requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
replies: msgspec.msgpack.Decoder[Reply] = msgspec.msgpack.Decoder(Reply)
encoder = msgspec.msgpack.Encoder()
