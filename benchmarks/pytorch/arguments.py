"""The command's arguments, which its parts share, and where exports lie."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args

from benanza.pytorch.names import ALL, SETS, resolved
from benanza_schemas.layer import Precision
from benchmarks.pytorch.rows import Key, Result, Row, read

MOST_AT_ONCE = 16
"""So many processes compile at the same time, or are ready. Each takes about 3 GB of memory."""

MOST_EXPORTS = 8
"""So many processes export at the same time."""

Side = Literal["pytorch", "bounds", "runs"]

Kind = TypeVar("Kind", bound=Result)


class Arguments(NamedTuple):
    """The command's arguments. `seconds` are for each of exporting and the sides."""

    file: Path
    models: list[str]
    precisions: list[Precision]
    batch: int
    parts: int
    sides: list[Side]
    seconds: float
    exports: Path
    retry: bool
    max_autotune: bool

    def keys(self) -> list[Key]:
        """What each side is to give: each model at each precision."""
        return [
            (name, precision, self.batch) for name in self.models for precision in self.precisions
        ]

    def lacking(self, kind: type[Result]) -> list[Key]:
        """What the file has no row of this kind for. To `retry`, also what failed."""
        last = self.last(kind)
        return [
            key for key in self.keys() if key not in last or (self.retry and last[key].failed())
        ]

    def last(self, kind: type[Kind]) -> dict[Key, Kind]:
        """The last row of this kind in the file for each model, precision and batch size."""
        return {row.key(): row for row in rows_in(self.file) if isinstance(row, kind)}

    def layers_file(self) -> Path:
        """Where measured layers are kept, beside the results."""
        return self.file.with_suffix(".layers.gz")


def rows_in(file: Path) -> list[Row]:
    """The rows of a file of results, none if it isn't there."""
    return read([file]) if file.exists() else []


class _PrintModels(argparse.Action):
    """An option that prints the names that `all` stands for, and ends the program."""

    def __init__(self, option_strings: Sequence[str], dest: str, **_: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, help="print what `all` stands for, and end")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print("\n".join(ALL))
        parser.exit()


def parsed(description: str, arguments: Sequence[str] | None = None) -> Arguments:
    """These arguments, or those of this process."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--print-models", action=_PrintModels)
    parser.add_argument(
        "--models",
        required=True,
        help="names, such as resnet50, timm:levit_192, transformers:llama-small, or sets: all, "
        f"{', '.join(SETS)}",
    )
    parser.add_argument("--precision", default="fp32,tf32,fp16,bf16")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="2/3: the second of every three models")
    parser.add_argument("--sides", default="pytorch,bounds", help="of pytorch, bounds and runs")
    parser.add_argument(
        "--seconds",
        type=float,
        default=3600.0,
        help="after so many no model is begun in PyTorch, then no export, then no layer of a "
        "bound, then no run",
    )
    parser.add_argument("--exports", type=Path, default=Path("data/exports"))
    parser.add_argument("--retry", action="store_true", help="what failed before, too")
    parser.add_argument("--max-autotune", action="store_true", help="minutes for a model")
    options = parser.parse_args(arguments)
    try:
        models = resolved(options.models, options.part)
        precisions = [
            _one_of(get_args(Precision), precision) for precision in options.precision.split(",")
        ]
        sides = [_one_of(get_args(Side), side) for side in options.sides.split(",")]
    except ValueError as error:
        parser.error(str(error))
    return Arguments(
        file=options.file,
        models=models,
        precisions=cast(list[Precision], precisions),
        batch=options.batch,
        parts=int(options.part.partition("/")[2]),
        sides=cast(list[Side], sides),
        seconds=options.seconds,
        exports=options.exports,
        retry=options.retry,
        max_autotune=options.max_autotune,
    )


def _one_of(known: Sequence[str], text: str) -> str:
    if text not in known:
        raise ValueError(f"{text!r} is none of {', '.join(known)}")
    return text


def export_path(folder: Path, name: str, batch: int) -> Path:
    """Where a model's export lies."""
    return folder / f"{name.replace(':', '-')}-b{batch}.onnx"


def failure_path(export: Path) -> Path:
    """The file that says why there is no export."""
    return export.with_suffix(".failure")
