"""Steps of decoders split over GPUs by PyTorch's tensor parallelism:

    python -m benchmarks.decoders.in_pytorch_tp OUT.jsonl llama-1b:1:1023 llama-8b:32:1023

Points are those of `in_pytorch`, whose step it times, in fp16: projections of queries, keys and
values, gate and up by columns, those of the output and down by rows, and the head by columns with
its scores put together (`torch.distributed.tensor.parallel`). There is a process for each GPU, over
NCCL. The times are those of rank 0: eager, compiled, and compiled with PyTorch's all-reduce over
symmetric memory for short vectors, each as a CUDA graph. What fails is told in the line of its
point.
"""

import argparse
import json
import os
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch.multiprocessing as mp
from torch import distributed
from torch.distributed._symmetric_memory import enable_symm_mem_for_group
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    parallelize_module,
)
from transformers.integrations import sdpa_attention

from benchmarks.decoders.in_pytorch import (
    REPLAYS,
    SAMPLES,
    Point,
    Step,
    built,
    kept_shape,
)
from benchmarks.decoders.published import BLOCKS

PORT = "29531"
LIMIT_S = 240.0
"""A point that takes longer is ended."""

COLUMNS = (
    "self_attn.q_proj",
    "self_attn.k_proj",
    "self_attn.v_proj",
    "mlp.gate_proj",
    "mlp.up_proj",
)
ROWS = ("self_attn.o_proj", "mlp.down_proj")


def split(model: Any, mesh: Any) -> Any:
    """The model, of which each process has its part."""
    plan: dict[str, Any] = {}
    for block in range(BLOCKS):
        plan |= {f"model.layers.{block}.{name}": ColwiseParallel() for name in COLUMNS}
        plan |= {f"model.layers.{block}.{name}": RowwiseParallel() for name in ROWS}
    # The head is a product of its own, also where it shares its weights with the embedding.
    model.lm_head.weight = torch.nn.Parameter(model.lm_head.weight.detach().clone(), False)
    plan["lm_head"] = ColwiseParallel(output_layouts=Replicate())
    return parallelize_module(model, mesh, plan)


def of_rank(rank: int, ranks: int, point: Point, target: str) -> None:
    """A process of the run; the first one writes what was found into a file, mode by mode."""
    os.environ.update(MASTER_ADDR="localhost", MASTER_PORT=PORT)
    torch.cuda.set_device(rank)
    distributed.init_process_group("nccl", rank=rank, world_size=ranks, device_id=rank)
    torch.manual_seed(1)
    torch.set_grad_enabled(False)
    sdpa_attention.use_gqa_in_sdpa = lambda *_, **__: True  # or keys are repeated in memory
    dtype, found = torch.bfloat16, dict[str, Any]()
    model, config = built(point.name, f"cuda:{rank}", dtype)
    mesh = init_device_mesh("cuda", (ranks,))
    model = split(model, mesh)
    places = torch.arange(point.past, point.past + 1, device="cuda")
    sequences, heads, length, depth = kept_shape(config, point, point.past + 1)
    shape = sequences, heads // ranks, length, depth
    kept = [torch.randn(shape, device="cuda", dtype=dtype) for _ in range(2 * BLOCKS)]
    ids = torch.randint(0, 1000, (point.sequences, 1), device="cuda")
    inputs = (ids, places.expand(point.sequences, 1).contiguous(), *kept)
    step = Step(model, point.past, places)
    for mode in ("eager", "compiled", "one_shot"):
        torch._dynamo.reset()
        if mode == "one_shot":
            enable_symm_mem_for_group(mesh.get_group().group_name)
            torch._inductor.config._collective.auto_select = True
        call = step if mode == "eager" else torch.compile(step, dynamic=False)
        try:
            found[f"{mode}_us"] = _graph_us(lambda call=call: call(*inputs))
        except Exception as error:  # noqa: BLE001  # PyTorch's errors share no narrower base
            found[f"{mode}_failure"] = f"{type(error).__name__}: {error}"[:300]
        if rank == 0:
            Path(target).write_text(json.dumps(found), encoding="utf-8")
    distributed.barrier()
    os._exit(0)  # Ending a group whose calls are in graphs may take for ever.


def _graph_us(call: Any) -> float:
    """The median time of replays of a CUDA graph, in microseconds."""
    torch.cuda.synchronize()  # what fills the inputs runs on another stream
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(3):
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        call()
    times = []
    for _ in range(SAMPLES):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        distributed.barrier()
        torch.cuda.synchronize()
        begin.record()
        for _ in range(REPLAYS):
            graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / REPLAYS)
    return float(median(times))


def run(point: Point, ranks: int, target: Path) -> dict[str, Any]:
    """What was found of a point within the limit, with why it is no more."""
    target.unlink(missing_ok=True)
    told: dict[str, Any] = {
        **point._asdict(),
        "tensor_parallel": ranks,
        "gpu": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
    }
    context = mp.get_context("spawn")
    processes = [
        context.Process(target=of_rank, args=(rank, ranks, point, str(target)), daemon=True)
        for rank in range(ranks)
    ]
    for process in processes:
        process.start()
    processes[0].join(LIMIT_S)
    for process in processes:
        if process.is_alive():
            told["failure"] = f"it was ended after {LIMIT_S:.0f} s"
            process.kill()
        process.join()
    codes = [process.exitcode for process in processes]
    if any(codes):
        told.setdefault("failure", f"its processes ended with {codes}")
    if target.exists():
        told |= json.loads(target.read_text("utf-8"))
    return told


def main() -> None:
    """Appends a line for each point to a file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("where", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("points", nargs="+", type=Point.parse)
    asked = parser.parse_args()
    for point in asked.points:
        line = json.dumps(run(point, asked.ranks, asked.where.with_suffix(".part")))
        with asked.where.open("a", encoding="utf-8") as lines:
            lines.write(f"{line}\n")
        print(line, flush=True)


if __name__ == "__main__":
    main()
