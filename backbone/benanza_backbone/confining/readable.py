"""What confined processes have to read: the program, and what the network is used with."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_HARDWARE = ("/sys/devices/system/cpu", "/proc/cpuinfo", "/proc/meminfo")

_DRIVER = (
    "/usr", "/opt", "/bin", "/sys", "/etc/ld.so.cache", "/etc/ld.so.conf", "/proc/self",
    "/proc/driver", "/proc/devices", "/proc/cpuinfo", "/proc/meminfo", "/proc/modules", "/proc/sys",
    "/proc/version", "/proc/stat",
)  # fmt: skip

_NAMES = (
    "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf",
    "/etc/services", "/etc/protocols", "/etc/localtime", "/etc/passwd",
    "/run/systemd/resolve", "/run/NetworkManager", "/run/resolvconf",
)  # fmt: skip
"""With these the C library finds the addresses of hosts."""

_CERTIFICATES = (
    "/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/etc/crypto-policies",
    "/usr/share/ca-certificates", "/usr/local/share/ca-certificates",
)  # fmt: skip

_NAMED_FILES = (
    "SSL_CERT_FILE", "SSL_CERT_DIR", "AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
    "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE",
)  # fmt: skip
_NAMED_TOKENS = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")
"""Kubernetes renews these as other files of the same folder."""


def of_program() -> Iterator[Path]:
    """Where Python finds modules, and the system libraries and numbers of the processor."""
    folders = [Path(folder) for folder in (*sys.path, sys.prefix, sys.base_prefix) if folder]
    system = map(Path, (*_SYSTEM, *_HARDWARE))
    return (path for path in (*folders, *system) if path != Path("/"))


def of_device() -> Iterator[Path]:
    """What CUDA's driver and its compilers read."""
    return map(Path, _DRIVER)


def devices() -> Iterator[Path]:
    """The files of the machine's NVIDIA GPUs, and those that any program uses."""
    yield from Path("/dev").glob("nvidia*")
    yield from Path("/dev/nvidia-caps").glob("*")
    yield from (Path("/dev/null"), Path("/dev/zero"), Path("/dev/urandom"))


def of_network() -> Iterator[Path]:
    """How hosts are found, whom to trust, and the credentials of an object store."""
    yield from map(Path, (*_NAMES, *_CERTIFICATES))
    yield Path(os.path.expanduser("~/.aws"))  # noqa: PTH111  # which raises nothing
    yield from (Path(os.environ[name]) for name in _NAMED_FILES if os.environ.get(name))
    yield from (Path(os.environ[name]).parent for name in _NAMED_TOKENS if os.environ.get(name))
