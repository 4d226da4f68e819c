"""Records the traces of this folder on a CPU, with PyTorch 2.11.0 and transformers 5.17.0.

    python tests/data/traces/record.py tests/data/traces

Those of an H200 are of torchvision's resnet50 with 32 images in fp16, as it is and compiled, by the
same PyTorch; of them only the events and arguments are kept that are read.
"""

import gzip
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile
from transformers import (
    BertConfig,
    BertModel,
    LlamaConfig,
    LlamaForCausalLM,
    ResNetConfig,
    ResNetForImageClassification,
)

KEPT = ("schemaVersion", "deviceProperties", "record_shapes", "traceEvents")
"""What says nothing of the machine."""


def record(path: Path, run: Callable[[], object]) -> None:
    """Profiles the second of two runs."""
    run()
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        run()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        profiler.export_chrome_trace(file.name)
        trace = json.loads(Path(file.name).read_text())
    document = json.dumps({key: trace[key] for key in KEPT}).encode()
    path.write_bytes(gzip.compress(document, mtime=0))


@torch.inference_mode()
def main(folder: Path) -> None:
    """A ResNet of 50 layers, a layer of BERT, and three tokens of a Llama of two layers."""
    resnet = ResNetForImageClassification(ResNetConfig()).eval()
    image = torch.randn(1, 3, 64, 64)
    record(folder / "resnet50.json.gz", lambda: resnet(image))

    small = {"num_attention_heads": 4, "hidden_size": 64, "intermediate_size": 128}
    bert = BertModel(BertConfig(num_hidden_layers=1, vocab_size=100, **small)).eval()
    words = torch.randint(0, 100, (2, 12))
    record(folder / "bert.json.gz", lambda: bert(words))

    sizes = {"hidden_size": 256, "intermediate_size": 512, "vocab_size": 1000}
    heads = {"num_attention_heads": 8, "num_key_value_heads": 2}
    llama = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, **sizes, **heads)).eval()
    prompt = torch.randint(0, 1000, (1, 16))
    asked = {"attention_mask": torch.ones_like(prompt), "max_new_tokens": 3, "min_new_tokens": 3}
    record(
        folder / "llama.json.gz",
        lambda: llama.generate(prompt, do_sample=False, pad_token_id=0, **asked),
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
