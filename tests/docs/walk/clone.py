"""A clone of the repository, and a machine around it that has nothing of Benanza."""

import os
import re
import subprocess
import sysconfig
import tomllib
from pathlib import Path

from tests.benanza.conftest import environment
from tests.docs.blocks import ROOT
from tests.docs.walk.shell import Shell
from tests.kafka_broker import free_port

PORTS = (8123, 9090, 9092, 9464, 9465, 9466, 9467)
"""Those that the pages name."""

CLICKHOUSE = """\
#!/bin/sh
# In the place of ClickHouse's program: its engine behind HTTP.
case $1 in
server) set -- server "store?backups.allowed_path=$PWD/backups" default "" {port} ;;
client) set -- client 127.0.0.1:{port} default "" ;;
esac
program=$1
shift
export PYTHONPATH={clone}:${{PYTHONPATH:-}}
exec {clone}/.venv/bin/python -m tests.backbone.clickhouse.clickhouse_$program "$@"
"""


QUICK = """\
#!/bin/sh
# Benanza's program, but for how long it times a layer.
exec python -m tests.benanza.quick_program "$@"
"""


class FreshClone:
    """The working tree as a commit of it would be, below a folder; `folder` is where.

    With `installed` it has the Python environment and the jars of Kafka that are here already, and
    its runner times each layer for moments.
    """

    def __init__(self, machine: Path, *, installed: bool) -> None:
        self.folder = machine / "benanza"
        self.ports = {port: free_port() for port in PORTS}
        self._home = machine / "home"
        self._typed = machine / "typed"
        for folder in (self.folder, self._home / "bin", self._typed):
            folder.mkdir(parents=True)
        self._copy()
        self._environment = self._empty()
        self._replaced = {
            "make kafka": f"deploy/kafka/run data/kafka {self.ports[9092]}",
            "/benanza\n": "/benanza?compress=false\n",  # which the stand-in has not
        }
        if installed:
            self._install()
        self._put_program("clickhouse", CLICKHOUSE.format(clone=self.folder, port=self.ports[8123]))
        self._adapt_prometheus()

    def shell(self) -> Shell:
        """A new one, in the folder of the repository."""
        return Shell(self.folder, self._environment, self._typed)

    def here(self, lines: str) -> str:
        """The lines with ports that are free: other tests have brokers, too."""
        for old, new in self._replaced.items():
            assert lines.count(old) <= 1, old
            lines = lines.replace(old, new)
        named = "|".join(map(str, PORTS))
        return re.sub(rf"\b({named})\b", lambda port: str(self.ports[int(port[0])]), lines)

    def _copy(self) -> None:
        """What git tracks or would, as it is: a clone with what is not committed."""
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(listed, cwd=ROOT, check=True, capture_output=True).stdout
        there = b"\0".join(n for n in names.split(b"\0") if n and (ROOT / n.decode()).exists())
        packed = ["tar", "--create", "--null", "--files-from=-"]
        tar = subprocess.run(packed, cwd=ROOT, check=True, capture_output=True, input=there)
        subprocess.run(["tar", "--extract"], cwd=self.folder, check=True, input=tar.stdout)

    def _empty(self) -> dict[str, str]:
        """No settings, and a home folder with nothing in it but what was downloaded before."""
        cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pip"
        variables = {"PIP_CACHE_DIR": str(cache)} | environment(self._home)
        variables["PATH"] = f"{self._home / 'bin'}:{variables['PATH']}"
        for name in ("PYTHONPATH", "VIRTUAL_ENV"):
            variables.pop(name, None)
        return variables

    def _install(self) -> None:
        (self.folder / ".venv").symlink_to(Path(sysconfig.get_path("scripts")).parent)
        jars = self.folder / "deploy" / "kafka" / "jars"
        jars.symlink_to(ROOT / jars.relative_to(self.folder))
        project = tomllib.loads((self.folder / "pyproject.toml").read_text("utf-8"))
        folders = project["tool"]["hatch"]["build"]["dev-mode-dirs"]
        self._environment["PYTHONPATH"] = ":".join(str(self.folder / each) for each in folders)
        self._put_program("quick-benanza", QUICK)
        self._replaced["benanza serve runner"] = "quick-benanza serve runner"

    def _put_program(self, name: str, script: str) -> None:
        program = self._home / "bin" / name
        program.write_text(script)
        program.chmod(0o755)

    def _adapt_prometheus(self) -> None:
        """It looks every second, at the ports that the services have here."""
        file = self.folder / "deploy" / "prometheus" / "without-docker.yml"
        text = self.here(file.read_text("utf-8"))
        file.write_text(text.replace("interval: 15s", "interval: 1s"))
