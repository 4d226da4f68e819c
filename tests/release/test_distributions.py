"""The wheel and the sources of a release: built from this checkout, and installed elsewhere."""

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
from email import message_from_bytes
from pathlib import Path
from typing import NamedTuple
from zipfile import ZipFile

import pytest

from tests.deploy.compose import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PACKAGES: list[str] = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]


LISTED = ("git", "ls-files", "--cached", "--others", "--exclude-standard")


class Built(NamedTuple):
    """The files of a release."""

    wheel: Path
    sources: Path


def build(source: Path, folder: Path, *options: str) -> None:
    """Builds without a network: the backend is installed here."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), *options]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


def ran(*command: str | Path) -> str:
    """What a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def contents(wheel: Path) -> dict[str, bytes]:
    """What each file holds; the record of all files in an order of its own."""
    with ZipFile(wheel) as opened:
        found = {name: opened.read(name) for name in opened.namelist()}
    (record,) = (name for name in found if name.endswith("/RECORD"))
    return found | {record: b"\n".join(sorted(found[record].splitlines()))}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("release")
    build(ROOT, folder)
    (wheel,), (sources,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return Built(wheel, sources)


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(built: Built) -> None:
    tracked = {
        str(Path(package).name / Path(name).relative_to(package))
        for package in PACKAGES
        for name in ran(*LISTED, package).splitlines()
    }
    with ZipFile(built.wheel) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert names == tracked | {"benanza/commit.txt"}


def test_what_it_says_of_itself_is_what_the_project_says(built: Built) -> None:
    with ZipFile(built.wheel) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        metadata = message_from_bytes(wheel.read(name))
    project = PROJECT["project"]
    assert metadata["Version"] == project["version"]
    assert metadata["Requires-Python"] == project["requires-python"]
    assert set(metadata.get_all("Provides-Extra", ())) == set(project["optional-dependencies"])
    assert set(metadata.get_all("Classifier", ())) == set(project["classifiers"])


def test_the_sources_build_the_same_wheel(built: Built, tmp_path: Path) -> None:
    """Without the checkout, and so with the commit that they hold."""
    with tarfile.open(built.sources) as sources:
        sources.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    build(unpacked, tmp_path / "again", "-t", "wheel")
    again = tmp_path / "again" / built.wheel.name
    assert contents(again) == contents(built.wheel)


def test_the_program_starts_where_only_the_wheel_is_installed(built: Built, tmp_path: Path) -> None:
    """Its dependencies are those of this environment, whose own Benanza is not on the path."""
    elsewhere = tmp_path / "elsewhere"
    venv.create(elsewhere, symlinks=True)
    pip = [sys.executable, "-m", "pip", "--python", str(elsewhere), "--disable-pip-version-check"]
    install = ["install", "--quiet", "--no-index", "--no-deps", str(built.wheel)]
    subprocess.run([*pip, *install], check=True)
    (packages,) = elsewhere.glob("lib/python*/site-packages")
    dependencies = [path for path in sys.path if path.endswith("-packages")]
    (packages / "dependencies.pth").write_text("\n".join(dependencies), encoding="utf-8")
    kept = {name: text for name, text in os.environ.items() if not name.startswith("BENANZA_")}
    kept |= {"PYTHONPATH": "", "HOME": str(tmp_path), "XDG_DATA_HOME": ""}

    def benanza(*arguments: str) -> str:
        return subprocess.run(
            [elsewhere / "bin" / "benanza", *arguments],
            check=True,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env=kept,
        ).stdout

    commit = ran("git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").strip()
    version = PROJECT["project"]["version"]
    assert benanza("--version") == f"benanza, version {version} ({commit})\n"
    assert "zoo:timm:levit_192" in benanza("zoo", "--all")
    assert "layers" in benanza("inspect", "zoo:timm:levit_192")
    assert benanza("publish", "zoo:squeezenet")
