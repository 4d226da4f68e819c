"""Nothing that is received can run code: no source unpickles or evaluates, itself or by a library.

Of libraries, Faust could: its tables pickle only where a codec says so, and dedupe's are raw
(`tests/dedupe/test_agent.py`). mode and PyTorch pickle among their own processes.
"""

import ast
from collections.abc import Iterator

import pytest

from tests.test_architecture import modules

MODULES = frozenset(
    """
    pickle cPickle _pickle pickletools copyreg dill cloudpickle jsonpickle shelve dbm marshal joblib
    multiprocessing multiprocess concurrent.futures.process pebble loky billiard xmlrpc Pyro5 rpyc
    """.split()
)
"""What unpickles, or starts processes that it talks to in pickles."""

NAMES = frozenset(
    """
    concurrent.futures.ProcessPoolExecutor asyncio.ProcessPoolExecutor pandas.read_pickle
    eval exec yaml.load yaml.load_all yaml.unsafe_load yaml.full_load torch.load numpy.load
    torch.multiprocessing numpy.lib.format.read_array ctypes.py_object
    """.split()
)
"""What does so unless it is told not to."""

HARMLESS = {"numpy.load": ("allow_pickle", False), "torch.load": ("weights_only", True)}
"""What tells it."""


def found_in(source: str) -> Iterator[str]:
    """What a module imports, calls or names that can run what it is given."""
    tree = ast.parse(source)
    meant = _names(tree)
    told = {
        id(node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _is_harmless(node, meant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _unpickles(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module:
            within = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name for name in within if _unpickles(name) or name in NAMES)
        elif isinstance(node, ast.Name | ast.Attribute) and id(node) not in told:
            name = _full(node, meant)
            if name in NAMES or _unpickles(name):
                yield name


def _names(tree: ast.AST) -> dict[str, str]:
    """What the names of a module mean that it imports."""
    meant = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                meant[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                meant[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return meant


def _full(node: ast.expr, meant: dict[str, str]) -> str:
    """The full name, empty for what has none."""
    match node:
        case ast.Name(id=name):
            return meant.get(name, name if name in ("eval", "exec") else "")
        case ast.Attribute(value=value, attr=name):
            before = _full(value, meant)
            return f"{before}.{name}" if before else ""
    return ""


def _is_harmless(call: ast.Call, meant: dict[str, str]) -> bool:
    named = HARMLESS.get(_full(call.func, meant))
    return named is not None and any(
        keyword.arg == named[0]
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is named[1]
        for keyword in call.keywords
    )


def _unpickles(name: str) -> bool:
    parts = name.split(".")
    return any(".".join(parts[:end]) in MODULES for end in range(1, len(parts) + 1))


@pytest.mark.parametrize("package", sorted({name.split(".")[0] for name in modules()}))
def test_no_source_can_run_what_it_is_given(package: str) -> None:
    found = {
        name: sorted(set(found_in(path.read_text("utf-8"))))
        for name, path in modules().items()
        if name.split(".")[0] == package
    }
    assert found
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import os, multiprocessing.connection",
        "from multiprocessing import get_context",
        "from concurrent.futures import ProcessPoolExecutor",
        "import concurrent.futures as f\nf.ProcessPoolExecutor()",
        "from concurrent.futures.process import BrokenProcessPool",
        "def later():\n    from pebble import ProcessPool",
        "import numpy as np\nnp.load(file)",
        "import numpy as np\nnp.load(file, allow_pickle=True)",
        "from numpy import load",
        "import torch\nread = torch.load",
        "import torch\ntorch.load(file, weights_only=False)",
        "import yaml\nyaml.load(text, Loader)",
        "import pandas\npandas.read_pickle(file)",
        "eval(text)",
        "list(map(exec, texts))",
    ],
)
def test_what_could_is_found(source: str) -> None:
    assert list(found_in(source))


def test_what_could_not_is_not_found() -> None:
    source = """
import numpy as np, torch, yaml
from concurrent.futures import ThreadPoolExecutor
np.load(file, allow_pickle=False)
torch.load(file, weights_only=True)
yaml.safe_load(text)
model.eval()
self.load(file)
"""
    assert list(found_in(source)) == []
