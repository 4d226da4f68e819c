"""The results of 2020 as they were published: files of the repository rai-project/dlperf.

Two kinds of files hold them. Below `results/` are those of Google Benchmark: all algorithms of all
layers. Below `assets/benchinfo/` is what the published look-up found for a model: the fastest
benchmark of each of its layers. Both name a benchmark and its sizes in the same way:

    LAYER_CUDNN_CONV_FWD_0_FLOAT32__BatchSize_1__395…<CUDNN_CONVOLUTION_FWD_ALGO_GEMM>/input[0]:1/…
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benanza_backbone.errors import BenanzaError
from benanza_schemas.layer import Precision

NAME = re.compile(
    r"LAYER_(?P<library>CUDNN|CUBLAS)_"
    r"(?P<call>ADD_TENSOR|[A-Z_]+_FWD(?:_INFERENCE|_TRAINING)?)(?:_\d+)?_"
    r"(?P<type>FLOAT32|TENSORCOREHALF)__BatchSize_\d+__\d+(?:<(?P<modes>.*)>)?/(?P<sizes>.*)"
)
PRECISIONS: Mapping[str, Precision] = {"FLOAT32": "fp32", "TENSORCOREHALF": "fp16"}
NO_SIZES = frozenset(("batch_size", "conv_fwd_type", "conv_bwd_type"))
"""Numbers in a benchmark's name that don't say what is computed."""

WORDS = re.compile(
    r"CUDNN_|CONVOLUTION_FWD_ALGO_|ACTIVATION_(?=[A-Z])|BATCHNORM_|POOLING_|SOFTMAX_"
)
TOTAL = "Total"
"""The last entry of `assets/benchinfo`: a sum, and no benchmark."""


class ApiCall(NamedTuple):
    """A call of cuDNN or cuBLAS with its sizes, in the order in which benchmarks name them.

    `name` is the benchmark's own, such as `CONV_FWD`, with the activation where the call fuses one.
    """

    name: str
    sizes: tuple[int, ...]


class PublishedTime(NamedTuple):
    """A benchmark that was published: its mean time in microseconds, or why it failed.

    `mode` names the algorithm, or what else the call was told; it may be empty. `advised` says
    that cuDNN's heuristic chooses this algorithm.
    """

    call: ApiCall
    precision: Precision
    library: str
    mode: str
    us: float | None
    failure: str = ""
    workspace_bytes: int = 0
    advised: bool = False


class ResultsFile(NamedTuple):
    """A file of results. `versions` are those of its libraries, by the results' own names. `date`
    is when Google Benchmark started, empty where the file doesn't say it. `unread` counts the
    benchmarks whose names are of no known form, by the name's beginning.
    """

    times: tuple[PublishedTime, ...]
    versions: Mapping[str, str]
    date: str
    unread: Counter[str]


def read_results(path: Path) -> ResultsFile:
    """Reads a file of either kind.

    Raises `BenanzaError` if it can't be read, is neither, or mixes versions of the libraries.
    """
    try:
        held = json.loads(path.read_bytes())
        entries = list(_entries(held))
        date = held["context"]["date"] if isinstance(held, dict) else ""
        times, unread = _times(entries)
        return ResultsFile(times, _versions(path, entries), date, unread)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise BenanzaError(
            f"{path} is no file of the results of 2020 ({error}); name one below `results` or "
            "`assets/benchinfo` of rai-project/dlperf"
        ) from error


def _entries(held: Any) -> Iterator[Mapping[str, Any]]:
    """The benchmarks of a file, with the field names of Google Benchmark."""
    if isinstance(held, dict):
        yield from held["benchmarks"]
        return
    for entry in held:
        benchmark = entry["benchmark"]
        if benchmark["Name"] != TOTAL:
            named = {"name": benchmark["Name"], "real_time": benchmark["RealTime"]}
            yield {**benchmark, **named, "time_unit": benchmark["TimeUnit"]}


def _times(entries: Iterable[Mapping[str, Any]]) -> tuple[tuple[PublishedTime, ...], Counter[str]]:
    times: list[PublishedTime] = []
    unread: Counter[str] = Counter()
    for entry in entries:
        match = NAME.fullmatch(entry["name"])
        if match is None:
            unread[entry["name"].split("__")[0]] += 1
        else:
            times.append(_time(entry, match))
    return tuple(times), unread


def _time(entry: Mapping[str, Any], name: re.Match[str]) -> PublishedTime:
    if entry["time_unit"] != "ns":
        raise ValueError(f"a time in {entry['time_unit']}")
    call, modes = name["call"], [WORDS.sub("", mode) for mode in (name["modes"] or "").split(", ")]
    if call == "CONV_BIAS_ACTIVATION_FWD":
        call = f"{call} {modes.pop()}"
    failure = entry.get("error_message", "")
    return PublishedTime(
        call=ApiCall(call, tuple(_sizes(name["sizes"]))),
        precision=PRECISIONS[name["type"]],
        library=name["library"].lower(),
        mode=" ".join(modes),
        us=None if failure else entry["real_time"] / 1000,
        failure=failure,
        workspace_bytes=int(entry.get("workspace_bytes", 0)),
        advised="convolution_algorithm" in entry
        and entry["convolution_algorithm"] == entry.get("advised_convolution_algorithm"),
    )


def _sizes(path: str) -> Iterator[int]:
    """The sizes of a benchmark's name; -1 stands for those that are not there, and is left out."""
    for part in path.split("/"):
        name, _, value = part.partition(":")
        if value and name not in NO_SIZES and value != "-1":
            yield int(value)


def _versions(path: Path, entries: Iterable[Mapping[str, Any]]) -> Mapping[str, str]:
    """What the counters say whose names are `gpu_name:Tesla …`, `cudnn_version:7.6.3` and so on."""
    said = {
        (name, value)
        for entry in entries
        for name, _, value in (key.partition(":") for key in entry)
        if name in ("gpu_name", "cudnn_version", "cublas_version", "cuda_driver_version")
    }
    versions = dict(said)
    if len(versions) != len(said) or "gpu_name" not in versions:
        raise ValueError(f"{path.name} is of no one system: {sorted(said)}")
    return versions
