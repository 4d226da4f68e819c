"""The libraries that are installed here, beside ONNX Runtime."""

import platform
from importlib.util import find_spec

from benanza_runner.cpu_libraries.cpu_library import CpuLibrary
from benanza_runner.cpu_libraries.onednn import binding

PACKAGES = ("openvino",)


def not_installed() -> tuple[str, ...]:
    """The packages of the extra `cpu` that aren't installed."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if platform.machine() == "x86_64" and binding.why_unavailable():
        missing.append(binding.PACKAGE)
    return tuple(missing)


def installed_libraries() -> tuple[CpuLibrary, ...]:
    """In the order in which they are asked."""
    libraries: list[CpuLibrary] = []
    if "openvino" not in not_installed():
        from benanza_runner.cpu_libraries.openvino.library import OpenVino

        libraries.append(OpenVino())
    if not binding.why_unavailable():
        from benanza_runner.cpu_libraries.onednn.library import OneDnn

        libraries.append(OneDnn())
    return tuple(libraries)
