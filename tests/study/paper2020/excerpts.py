"""Excerpts of the published results of a Tesla V100: some entries of two files, with the counters
that are read.
"""

from pathlib import Path

ALGORITHMS = Path(__file__).parent / "data" / "resnet50.json"
"""Of `results/resnet50/Tesla_V100-SXM2-16GB/1.json`, in the form of Google Benchmark."""

FASTEST = Path(__file__).parent / "data" / "shufflenet.json"
"""Of `assets/benchinfo/batchsize_1/Tesla_V100-SXM2-16GB/Shufflenet.json`."""
