"""Stands in for pip where an image is made in a folder: `pip install --requirement FILE` copies
the packages that are installed beside the tests, in the same pinned versions, which takes a
twentieth of the time. What these are, pip's own metadata says. `pip install --no-deps .` builds the
wheel for the first image only, since all are made of the same sources. All else is pip's own to do.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.shared import made_once


def main() -> None:
    """Does what its command line asks, in the environment whose Python is first in PATH."""
    del os.environ["PYTHONPATH"]  # for this program alone: pip shall see nothing but the image
    python = shutil.which("python") or ""
    match sys.argv[1:]:
        case ["install", "--requirement", file]:
            pinned = _requirements(Path(os.environ["PIP_CONSTRAINT"]))
            constraints = {canonicalize_name(each.name): each.specifier for each in pinned}
            (site,) = Path(python).parents[1].glob("lib/python*/site-packages")
            for found in _needed(_requirements(Path(file))):
                name = canonicalize_name(found.name)
                assert found.version in constraints[name], name
                _copy(found, site)
        case ["install", "--no-deps", "."]:
            _pip(python, "install", "--no-deps", _wheel(python))
        case arguments:
            _pip(python, *arguments)


def _pip(python: str, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--python", python, *arguments]
    if status := subprocess.run(command, check=False).returncode:
        sys.exit(status)


def _wheel(python: str) -> str:
    def build(folder: Path) -> None:
        _pip(python, "wheel", "--no-deps", "--wheel-dir", str(folder), ".")

    (wheel,) = made_once("wheel-of-images", build).iterdir()
    return str(wheel)


def _requirements(file: Path) -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in file.read_text("utf-8").splitlines())
    return [Requirement(line) for line in lines if line]


def _needed(wanted: Iterable[Requirement]) -> list[Distribution]:
    """These, and what they require in turn, with the extras that are asked for."""
    needed: dict[str, Distribution] = {}
    open_, seen = list(wanted), set[str]()
    while open_:
        each = open_.pop()
        if str(each) in seen:
            continue
        seen.add(str(each))
        found = needed.setdefault(canonicalize_name(each.name), distribution(each.name))
        assert found.version in each.specifier, f"{each} is wanted, {found.version} is installed"
        open_ += (
            required
            for required in map(Requirement, found.requires or ())
            if required.marker is None
            or any(required.marker.evaluate({"extra": extra}) for extra in each.extras or {""})
        )
    return list(needed.values())


def _copy(found: Distribution, site: Path) -> None:
    """Each file on its own, since packages may share folders; what stands beside them, such as
    programs, is left out. Modules come compiled.
    """
    for file in found.files or ():
        if ".." not in file.parts:
            if (site / file).exists():  # of an earlier step
                continue
            (site / file).parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(str(found.locate_file(file)), site / file)
            except OSError:  # of another disk
                shutil.copy2(str(found.locate_file(file)), site / file)


if __name__ == "__main__":
    main()
