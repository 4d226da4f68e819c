"""A Dockerfile, read, and its steps carried out in a folder instead of an image.

Docker can't be had everywhere. What a Dockerfile does here is to make a virtual environment, so
its steps run as well in a folder that stands for the root of the image: paths of the image are
put below it. Users aren't made, since that would change this machine.
"""

import fnmatch
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from dockerfile_parse import DockerfileParser

from tests.shared import shared_folder

IMAGE_PATHS = ("/opt/benanza", "/src", "/var/lib/benanza", "/var/lib/apt/lists")

SKIPPED = ("useradd", "install", "apt-get")
"""Programs that are stood in for by ones that do nothing."""

PYTHON = """#!/bin/sh
[ "$1 $2" = "-m venv" ] && set -- "$@" --without-pip
exec '{python}' "$@"
"""
"""The image's own Python is that of the tests. An environment's pip is stood in for, too."""

PIP = """#!/bin/sh
export TESTS_SHARED='{shared}'
PYTHONPATH='{tests}' exec '{python}' '{program}' "$@"
"""

HOW_IT_RUNS = ("USER", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD")
"""Instructions that make nothing."""


@dataclass
class Stage:
    """FROM … AS …, and the instructions up to the next one."""

    name: str
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)


class Dockerfile:
    """The stages of a Dockerfile, and what its last one says of itself."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text("utf-8")
        self.stages: list[Stage] = []
        parser = DockerfileParser(fileobj=path.open("rb"))
        for step in parser.structure:
            instruction, value = step["instruction"], step["value"]
            if instruction == "FROM":
                base, _, name = value.partition(" AS ")
                self.stages.append(Stage(name or str(len(self.stages)), base))
            elif instruction != "COMMENT":
                self.stages[-1].steps.append((instruction, value))

    def steps(self, stage: Stage) -> list[tuple[str, str]]:
        """The instructions of a stage, after those of the stages that it stands on."""
        below = [self.steps(each) for each in self.stages if each.name == stage.base]
        return [*(below[0] if below else []), *stage.steps]

    def made(self) -> list[list[tuple[str, str]]]:
        """What is done to make the last stage: the steps of those that it copies from, and its own.

        Dockerfiles of which this is the same make the same image but for how it is run.
        """
        last = self.stages[-1]
        copied = {
            match[1]
            for name, value in self.steps(last)
            if name == "COPY" and (match := re.match(r"--from=(\S+) ", value))
        }
        needed = [stage for stage in self.stages if stage.name in copied] + [last]
        return [
            [(name, value) for name, value in self.steps(stage) if name not in HOW_IT_RUNS]
            for stage in needed
        ]

    def last(self, instruction: str, stage: Stage | None = None) -> str:
        """The value that counts of an instruction, in the last stage unless another is given."""
        steps = self.steps(stage or self.stages[-1])
        return [value for name, value in steps if name == instruction][-1]

    @property
    def entrypoint(self) -> list[str]:
        """ENTRYPOINT, in its form without a shell."""
        return list(json.loads(self.last("ENTRYPOINT")))

    @property
    def command(self) -> list[str]:
        """CMD, likewise."""
        return list(json.loads(self.last("CMD")))

    @property
    def healthcheck(self) -> list[str]:
        """The command of HEALTHCHECK, likewise."""
        return list(json.loads(self.last("HEALTHCHECK").partition(" CMD ")[2]))

    @property
    def environment(self) -> dict[str, str]:
        """The variables that ENV sets in the last stage."""
        steps = self.steps(self.stages[-1])
        words = [word for name, value in steps if name == "ENV" for word in shlex.split(value)]
        return dict(word.split("=", 1) for word in words)


class Image:
    """The last stage of a Dockerfile, carried out in a folder."""

    def __init__(self, dockerfile: Dockerfile, context: Path, root: Path) -> None:
        self._root = root
        self._dockerfile = dockerfile
        self._context = context
        self._ignored = _ignored(context)
        self._stands_in = root / "stand-ins"
        self.environment = self._variables(dockerfile.environment, {})

    def build(self) -> None:
        """Makes it, in an empty folder."""
        for path in (*(self._below(path) for path in IMAGE_PATHS), self._stands_in):
            path.mkdir(parents=True)
        for program in SKIPPED:
            (self._stands_in / program).symlink_to(shutil.which("true") or "")
        pip = Path(__file__).with_name("stand_in_pip.py")
        for name, script in (("python", PYTHON), ("pip", PIP)):
            stand_in = self._stands_in / name
            stand_in.write_text(
                script.format(
                    python=sys.executable, program=pip, shared=shared_folder(), tests=pip.parents[2]
                )
            )
            stand_in.chmod(0o755)
        for steps in self._dockerfile.made():
            self._build(steps)

    def run(self, command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """A process in the image."""
        program, *arguments = command
        variables = self.environment | environment
        found = shutil.which(program, path=variables["PATH"])
        assert found, program
        return subprocess.Popen(
            [found, *arguments],
            env=variables,
            cwd=self._below("/var/lib/benanza"),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def _build(self, steps: list[tuple[str, str]]) -> None:
        folder, variables = self._root, self._variables({}, {})
        for name, value in steps:
            match name:
                case "WORKDIR":
                    folder = self._below(value)
                case "ENV":
                    new = dict(word.split("=", 1) for word in shlex.split(value))
                    variables |= self._variables(new, variables)
                    # An image has no use for the cache; four builds in a row do.
                    variables.pop("PIP_NO_CACHE_DIR", None)
                case "COPY":
                    self._copy(shlex.split(value), folder)
                case "RUN":
                    done = subprocess.run(
                        ["/bin/sh", "-c", self._inside(value)],
                        cwd=folder,
                        env=variables,
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    assert done.returncode == 0, f"RUN {value}\n{done.stdout}{done.stderr}"
                case _:
                    raise AssertionError(f"{name} is not known here")

    def _copy(self, words: list[str], folder: Path) -> None:
        *sources, target = words
        if sources[0].startswith("--from="):
            # The stages share one folder, so it is there already.
            assert sources[1:] == [target]
            assert any(self._below(target).iterdir())
            return
        for source in sources:
            origin = self._context / source
            destination = folder / target
            if origin.is_dir():
                shutil.copytree(origin, destination, ignore=self._ignore, dirs_exist_ok=True)
            else:
                assert not self._ignored(source), f"{source} is not in the context"
                shutil.copy(origin, destination)

    def _ignore(self, folder: str, names: list[str]) -> list[str]:
        below = Path(folder).relative_to(self._context)
        return [name for name in names if self._ignored(str(below / name))]

    def _variables(self, new: dict[str, str], old: dict[str, str]) -> dict[str, str]:
        path = old.get("PATH", f"{self._stands_in}:{os.environ['PATH']}")
        kept = {name: os.environ[name] for name in os.environ if name.lower().endswith("_proxy")}
        kept |= {name: os.environ[name] for name in ("PIP_INDEX_URL",) if name in os.environ}
        kept["PIP_CACHE_DIR"] = os.environ.get("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))
        kept["PIP_COMPILE"] = "0"  # half of the time; the modules that run are compiled then
        texts = {k: self._inside(v).replace("$PATH", path) for k, v in new.items()}
        return kept | {"PATH": path, "HOME": str(self._root)} | old | texts

    def _inside(self, text: str) -> str:
        """The text with the image's paths put below the folder."""
        return re.sub(
            rf"(?<![\w./])(?:{'|'.join(IMAGE_PATHS)})(?![\w-])",
            lambda found: str(self._below(found[0])),
            text,
        )

    def _below(self, path: str) -> Path:
        return self._root / path.lstrip("/")


class _Ignored:
    """Whether .dockerignore keeps a path out: the last pattern that fits decides."""

    def __init__(self, lines: list[str]) -> None:
        self._patterns = [line for line in lines if line and not line.startswith("#")]

    def __call__(self, path: str) -> bool:
        out = False
        above = [str(each) for each in (Path(path), *Path(path).parents)]
        for pattern in self._patterns:
            text = pattern.removeprefix("!")
            deep = text.removeprefix("**/")
            if any(
                fnmatch.fnmatch(each, text)
                or (deep != text and fnmatch.fnmatch(Path(each).name, deep))
                for each in above
            ):
                out = not pattern.startswith("!")
        return out


def _ignored(context: Path) -> _Ignored:
    return _Ignored((context / ".dockerignore").read_text("utf-8").splitlines())
