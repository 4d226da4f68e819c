"""A session that ONNX Runtime profiles, and what it says of the executions, node by node."""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import onnxruntime as ort
from onnx import GraphProto, ModelProto

from benanza.onnxruntime.session import Called, called
from benanza.onnxruntime.trace import Executions, executions_in, names_in, on_gpu, without
from benanza.profiling.framework import Configuration
from benanza.profiling.joining import layers_of_nodes
from benanza.profiling.spans import Activity, timed_call
from benanza.profiling.whole_model import WholeModel
from benanza_backbone.errors import BenanzaError
from benanza_ingest.reading.parse import subgraphs
from benanza_schemas.events import FrameworkCall
from benanza_schemas.layer import Precision

WEIGHTS_FILE = "weights"
EXTERNAL_FROM_BYTES = 65_536


class Traced(NamedTuple):
    """Executions, and the positions of the layers that each node computes, by its name."""

    found: Executions
    positions: Mapping[str, tuple[int, ...]]


class ProfiledSession(NamedTuple):
    """A session with what runs its model, and the graph that it runs."""

    called: Called
    graph: GraphProto

    def ended(
        self,
        layers: GraphProto,
        skipped: int,
        activities: Sequence[Activity] | None,
        most_bytes: int | None = None,
    ) -> Traced:
        """Ends profiling: the executions but for the first ones, with what the GPU did for each
        node in place of the host where its activities are given. `layers` are those of the model.
        Raises `BenanzaError` if ONNX Runtime wrote more than `most_bytes`.
        """
        session = self.called.session
        began_us = session.get_profiling_start_time_ns() / 1_000
        path = Path(session.end_profiling())
        size = path.stat().st_size
        if most_bytes is not None and size > most_bytes:
            raise BenanzaError(f"ONNX Runtime's profile has {size:,} bytes, over {most_bytes:,}")
        traced = executions_in(path, began_us)
        traced = traced._replace(executions=traced.executions[skipped:])
        traced = without(traced, _names_in_bodies(self.graph))
        names = names_in(traced, self.graph.node)
        positions = dict(zip(names, layers_of_nodes(layers, self.graph), strict=True))
        return Traced(traced if activities is None else on_gpu(traced, activities), positions)


@contextmanager
def profiled_session(
    model: WholeModel,
    configuration: Configuration,
    precision: Precision,
    options: ort.SessionOptions,
    *,
    on_gpu: bool,
) -> Iterator[ProfiledSession]:
    """A session as of `called`, whose files are there for as long as the block."""
    with tempfile.TemporaryDirectory(prefix="benanza-profile-") as folder:
        path = Path(folder) / "optimised.onnx"
        options.optimized_model_filepath = str(path)
        prefix = "session.optimized_model_external_initializers_"
        options.add_session_config_entry(prefix + "file_name", WEIGHTS_FILE)
        options.add_session_config_entry(prefix + "min_size_in_bytes", str(EXTERNAL_FROM_BYTES))
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / "profile")
        session = called(model, configuration, precision, options, on_gpu=on_gpu)
        yield ProfiledSession(session, ModelProto.FromString(path.read_bytes()).graph)


def joined(traced: Traced) -> tuple[FrameworkCall, ...]:
    """The nodes that take time or compute layers, with their times over all executions. A node that
    starts nothing on the GPU takes no time there, and stands before all others.
    """
    executions, ops, _ = traced.found
    calls = []
    for name, op in ops.items():
        spans = [execution.nodes[name] for execution in executions if name in execution.nodes]
        layers = traced.positions.get(name, ())
        if spans or layers:
            calls.append(timed_call(name, op, layers, spans))
    return tuple(sorted(calls, key=lambda call: call.start_us))


def _names_in_bodies(graph: GraphProto) -> set[str]:
    """The names of the nodes in bodies of control flow, however deep."""
    bodies = [body for node in graph.node for body in subgraphs(node)]
    inner = {node.name for body in bodies for node in body.node}
    return inner.union(*map(_names_in_bodies, bodies))
