"""`benanza solve`: a kernel for a task."""

import sys
from pathlib import Path
from typing import Any

import click

from benanza.commands.options import Format, data_option, format_option, print_json
from benanza.commands.startup import settings_of
from benanza.render.table import console

MOST_LETTERS = 64


class Author(click.ParamType):
    """A name that stands before a slash."""

    name = "name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The same text."""
        if not value or len(value) > MOST_LETTERS or not value.isprintable() or "/" in value:
            self.fail(f"{value!r} is no name of up to {MOST_LETTERS} letters", param, ctx)
        return str(value)


@click.command()
@click.argument("task", type=click.Path(path_type=Path))
@click.argument("kernel", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--by", "author", required=True, type=Author(), help="Who made the kernel.")
@data_option
@format_option
def solve(*, task: Path, kernel: Path, author: str, data: Path | None, output: Format) -> None:
    """Tries a kernel for a task, which may move bounds.

    TASK is a folder that benanza tasks wrote. KERNEL is a module of Python with a function `run`, a
    shared library (.so), or a file of C (.c), which cc compiles, for a CPU; for a GPU a module that
    uses CuPy or Triton, a shared library, or a file of CUDA C++ (.cu), which nvcc compiles. It runs
    in a process that can reach neither files nor the network. If its results are right each time,
    it becomes a variant of the layer on this system: the bounds of all models that have the layer
    may fall, and benanza history says by whom. If not, it says what is wrong with it, and nothing
    changes. benanza import --undo KERNEL takes a solution back.

    \b
    Examples:
      benanza solve tasks/01-concat_1f0c29aa5f6e kernel.c --by alice
      benanza solve tasks/03-softmax_90cf02d1e9aa kernel.py --by alice
    """
    from benanza.render.answers.tasks import print_solved
    from benanza.tasks.solve import solve as try_it

    solved = try_it(task, kernel, author, settings_of(data))
    if output == "json":
        print_json(solved)
    else:
        print_solved(console(sys.stdout), solved)
