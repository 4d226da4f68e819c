"""What the table of operators says of each, as Markdown.

python -m benchmarks.operators > docs/operators.md
"""

from collections.abc import Iterable, Iterator

from benanza_schemas.operators.facts import OperatorFacts
from benanza_schemas.operators.skipped import SKIPPED
from benanza_schemas.operators.table import TABLE

HEAD = """# Operators

`python -m benchmarks.operators` makes this page of the table in
`schemas/benanza_schemas/operators/`, which ingest and the GPU runner go by; a test compares them.
Every operator of the pinned versions of ONNX and ONNX Runtime is here.

- *Operations* are those for each element of the first result. *Formula*: they follow from more than
  that; `services/ingest/benanza_ingest/layering/costs.py` and `onnxruntime_flops.py` count them.
- Inputs that *decide* what the operator does belong to a layer's identity, if they are constant:
  the shape for a Reshape. The first input is 0.
- *Region*: what the operator does in a region, a kernel that is generated for several operators.
- *View*: when nothing has to run. *Evaluated*: computed before the model runs, if what it reads is
  known. *Once*: computed once, if a model repeats it; what costs little may take less time where it
  is joined with each reader. *Activation*: the call of the product before it may compute it.
"""
_DOMAINS = {
    "": "ONNX",
    "ai.onnx.ml": "ONNX, classical models: `ai.onnx.ml`",
    "com.microsoft": "ONNX Runtime: `com.microsoft`",
    "com.microsoft.nchwc": "ONNX Runtime, channels in blocks: `com.microsoft.nchwc`",
}
_COLUMNS = (
    *("kind", "operators", "operations", "decide", "region", "view", "evaluated", "once"),
    "activation",
)


def markdown() -> str:
    """Tables of the operators by domain, and of those without a row."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield HEAD
    for domain, title in _DOMAINS.items():
        yield f"## {title}\n"
        yield f"| {' | '.join(_COLUMNS)} |"
        yield "|---" * len(_COLUMNS) + "|"
        alike: dict[OperatorFacts, list[str]] = {}
        for (of, name), facts in TABLE.items():
            if of == domain:
                alike.setdefault(facts, []).append(name)
        for facts in sorted(alike, key=lambda facts: (facts.kind, sorted(alike[facts]))):
            yield _row(facts, sorted(alike[facts]))
        yield ""
    yield "## Without a row\n"
    yield "| why | operators |"
    yield "|---|---|"
    for why in sorted(set(SKIPPED.values())):
        yield f"| {why} | {_joined(n for (_, n), given in SKIPPED.items() if given == why)} |"


def _row(facts: OperatorFacts, names: Iterable[str]) -> str:
    cells = (
        facts.kind,
        _joined(names),
        "formula" if facts.flops is None else str(facts.flops),
        _joined(map(str, facts.deciding)),
        facts.region,
        facts.view,
        "yes" if facts.evaluated else "",
        "yes" if facts.costly else "",
        "yes" if facts.activation else "",
    )
    return f"| {' | '.join(cells)} |"


def _joined(names: Iterable[str]) -> str:
    return ", ".join(names)


if __name__ == "__main__":
    print(markdown(), end="")
