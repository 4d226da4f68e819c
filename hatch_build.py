"""Puts the commit into what is built from a checkout: wheels, and sources to build them from."""

import runpy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CommitHook(BuildHookInterface):
    """Writes `benanza/commit.txt`. Unpacked sources have it already; without Git it is left out."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """What is installed to be edited asks Git whenever it is asked."""
        if version == "editable":
            return
        root = Path(self.root)
        commit = runpy.run_path(str(root / "benanza" / "installation" / "commit.py"))
        if commit_id := commit["checked_out"](root):
            self._folder = TemporaryDirectory()
            written = Path(self._folder.name) / "commit.txt"
            written.write_text(f"{commit_id}\n", encoding="ascii")
            build_data["force_include"][str(written)] = "benanza/commit.txt"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Nobody needs the file any longer."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
