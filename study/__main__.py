"""The study: what holds over all models of the zoo, on a recorded NVIDIA H200:

    python -m study > docs/results/study.md

It imports the recordings into a folder that it removes in the end, publishes the zoo, and answers
from the store. It needs no GPU, and takes four to five minutes of the processor, most of them for
ingesting the zoo twice and for filling the store with 1.4 million variants.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benanza.importing.import_recordings import import_recordings
from benanza.installation.configured import known_store
from benanza.looking.questions import known_answers
from benanza.publishing.publish import PublishRequest, publish
from benanza.publishing.zoo_models import zoo
from benanza.results.questions import ModelAnswers
from benanza.settings import load
from benanza_backbone.settings import Settings
from benanza_ingest.errors import ModelError
from benanza_ingest.extract import extract
from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import fetch
from benanza_ingest.reading.zoo import PREFIX, zoo_names
from study.bound_tables import bound_tables, precision_table
from study.findings import findings
from study.layer_tables import layer_tables
from study.population import composition
from study.pytorch_failures import without_time

RECORDINGS = Path(__file__).parents[1] / "recordings"
MEASURED = tuple(
    RECORDINGS / f"nvidia-h200{name}.xz"
    for name in ("", "-zoo", "-zoo-tf32", "-zoo-b32", "-ceilings")
)
PYTORCH = RECORDINGS / "nvidia-h200-pytorch.xz"

TITLE = """# The study
"""

BEGIN = """
What holds over all models that `benanza zoo --all` lists but its decoders. It says nothing of
other models. `python -m study > docs/results/study.md` writes this page.
"""

BOUNDS = """
## Bounds in fp16 on an NVIDIA H200

From [recordings](../../recordings/README.md), at batch 1. Remedies are speed-ups, how many times as
long the model takes without them:

- *algorithms*: the fastest algorithm of each layer in place of the one that the library's heuristic
  chooses, without fusion; *fusion*: the bound in place of the sum of its layers; *parallel*: the
  longest path in place of the sum; *joint*: all three.
- *PyTorch / bound*: PyTorch's fastest run as a CUDA graph, of eager and compiled, channels first
  and last. Below 1 the bound is wrong.
- *bound / light*: how many times as long as the speed of light the bound is, which the GPU's
  ceilings and the fewest operations known allow.
"""

BOUNDS_TF32 = """
## Bounds in TF32

The same at batch 1 in TF32, in PyTorch too.
"""

SYSTEMS = """
SELECT runtime, accelerator, driver, cuda, cudnn, cublas, libraries FROM systems FINAL
UNION DISTINCT
SELECT framework, accelerator, driver, cuda, cudnn, cublas, libraries FROM profiles FINAL
"""

LARGE = 32

BOUNDS_LARGE = f"""
## Bounds in fp16 at batch {LARGE}

The same at batch {LARGE}. The models were measured in a random order for as long as there was time,
but for five that were put last, and with PyTorch those that came first; models whose layers were
not all measured are left out.
"""

REFUSED = f"""
Of these the export is bound to batch 1, and ingest does not find its way to {LARGE}:
"""

PYTORCH_FAILED = """
PyTorch has no time for what was not run, and for these:
"""

PRECISIONS = """
## Precisions

What TF32 and fp16 are worth, as speed-ups over the bound in fp32, which was recorded for the nine
models of `onnx` only.
"""


def main() -> None:
    """Prints the page."""
    names = [entry.model for entry in zoo(exported=True).models]
    models = [
        composition(name.removeprefix(PREFIX), extract(fetch(name, Limits()).content))
        for name in names
    ]
    with TemporaryDirectory() as folder:
        settings = load(Path(folder) / "data")
        import_recordings((*MEASURED, PYTORCH), settings)
        fp16, tf32, fp32 = _answers(names, settings)
        large, refused = _large_answers(names, settings)
        with known_store(settings) as store:
            failed = without_time(store)
            systems = store.query(SYSTEMS)
    print(TITLE)
    print("\n".join(findings(models, fp16, tf32, large, LARGE)))
    print(BEGIN)
    print("\n".join(layer_tables(models)))
    print(BOUNDS)
    print("\n".join(bound_tables(fp16)))
    print(BOUNDS_TF32)
    print("\n".join(bound_tables(tf32)))
    print(BOUNDS_LARGE)
    print("\n".join(bound_tables(large)))
    if refused:
        print(REFUSED)
        print("\n".join(f"- {name.removeprefix(PREFIX)}" for name in refused))
    print(PYTORCH_FAILED)
    print("\n".join(f"- {name}: {reason}" for name, reason in failed.items()))
    print()
    print("\n".join(map(_system, systems)))
    print(PRECISIONS)
    print("\n".join(precision_table(fp32)))


def _system(row: Mapping[str, Any]) -> str:
    libraries = row["libraries"] | {name: row[name] for name in ("cuda", "cudnn", "cublas")}
    versions = ", ".join(f"{name} {version}" for name, version in libraries.items() if version)
    return f"- {row['runtime']}: {row['accelerator']}, driver {row['driver']}, {versions}."


def _answers(
    names: Sequence[str], settings: Settings
) -> tuple[Sequence[ModelAnswers], Sequence[ModelAnswers], Sequence[ModelAnswers]]:
    """Those of all models in fp16 and in TF32, and of the nine in fp32. Raises `SystemExit` for a
    model that can't be published.
    """
    if errors := publish(names, PublishRequest(), settings).errors:
        raise SystemExit("; ".join(f"{error.model}: {error.reason}" for error in errors))
    nine = [PREFIX + name for name in zoo_names()]
    return (
        known_answers(settings, names, ["fp16"], {}).models,
        known_answers(settings, names, ["tf32"], {}).models,
        known_answers(settings, nine, ["fp32"], {}).models,
    )


def _large_answers(
    names: Sequence[str], settings: Settings
) -> tuple[Sequence[ModelAnswers], Sequence[str]]:
    """Those at the large batch of the models that are measured there; and the models that can't be
    bound to it.
    """
    refused = []
    for name in names:
        try:
            extract(fetch(name, Limits()).content, batch=LARGE)
        except ModelError:
            refused.append(name)
    bound = [name for name in names if name not in refused]
    if errors := publish(bound, PublishRequest(batch_sizes=(LARGE,)), settings).errors:
        raise SystemExit("; ".join(f"{error.model}: {error.reason}" for error in errors))
    answers = known_answers(settings, bound, ["fp16"], {}).models
    whole = [
        answer for answer in answers if answer.bound.batch == LARGE and not answer.bound.partial
    ]
    return whole, refused


if __name__ == "__main__":
    main()
