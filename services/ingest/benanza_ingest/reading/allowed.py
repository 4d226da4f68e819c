"""Says which addresses models may be fetched from, before anything is opened or connected to.

Whoever publishes a model chooses its address. On a user's own machine that is the user. In a
deployment it is whoever may write events, and ingest stands in another network than they do.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import NamedTuple

from benanza_backbone.model_sources import BucketSource, FolderSource, ModelSource, WebSource
from benanza_backbone.settings import Settings
from benanza_ingest.errors import ModelError
from benanza_ingest.reading.object_address import ObjectAddress

SOURCES_SETTING = "BENANZA_MODEL_SOURCES"

IpAddress = IPv4Address | IPv6Address

_METADATA = frozenset(
    map(ip_address, ("100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"))
)
"""Where clouds tell their machines' secrets, besides link-local 169.254.169.254."""

_NAT64 = 0x64FF9B << 96


class Origin(NamedTuple):
    """The server of an address. `host` is in lower case; an IPv6 address has no brackets."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        return str(WebSource(*self))


@dataclass(frozen=True)
class Allowed:
    """From where models may be fetched; None is from anywhere, as on a user's own machine."""

    sources: tuple[ModelSource, ...] | None = None

    def file(self, path: Path) -> Path:
        """The file that this path leads to, with links followed.

        Raises `ModelError` if it isn't below an allowed folder, or is no file there.
        """
        if self.sources is None:
            return path
        target = path.resolve()
        folders = [source.folder for source in self.sources if isinstance(source, FolderSource)]
        if not any(target.is_relative_to(folder.resolve()) for folder in folders):
            raise ModelError(
                f"{path} isn't in a folder from which ingest may read; publish the file with its "
                f"content, or add {path.parent.absolute().as_uri()} to {SOURCES_SETTING} of ingest"
            )
        if target.exists() and not target.is_file():
            raise ModelError(f"{path} is no file; name the .onnx file")
        return target

    def check_object(self, address: ObjectAddress) -> None:
        """Raises `ModelError` if no model may be fetched from this bucket, or under this key."""
        buckets = [source for source in self.sources or () if isinstance(source, BucketSource)]
        if self.sources is not None and not any(bucket.holds(*address) for bucket in buckets):
            raise ModelError(
                f"ingest may not fetch {address}; add {BucketSource(address.bucket)} to "
                f"{SOURCES_SETTING} of ingest"
            )

    def check_origin(self, origin: Origin) -> None:
        """Raises `ModelError` if no model may be fetched from this server."""
        if self.sources is not None and not self._matching(origin):
            raise ModelError(
                f"ingest may not fetch from {origin}; add it to {SOURCES_SETTING} of ingest, "
                "or publish the file with its content"
            )

    def addresses(
        self, origin: Origin, resolved: list[str], redirected_from: Origin | None
    ) -> list[str]:
        """Those of a server's IP addresses to which ingest may connect.

        None is link-local. One in a private network, or of this machine, has to be asked for: by
        the user, or by an exact name in the setting; and no redirect leads there from another
        server. Raises `ModelError` if none is left.
        """
        left = [text for text in resolved if not is_forbidden(_ip(text))]
        if not left:
            raise ModelError(
                f"{origin} is at {resolved[0]}, where there is no server of models (link-local or "
                "reserved); check the address"
            )
        elsewhere = redirected_from not in (None, origin)
        by_name = self.sources is None or any(source.exact for source in self._matching(origin))
        if elsewhere or not by_name:
            left = [text for text in left if _real(_ip(text)).is_global]
        if not left and elsewhere:
            raise ModelError(
                f"{redirected_from} redirects to {origin}, which is at {resolved[0]} in a private "
                f"network; publish the model by its address at {origin}"
            )
        if not left:
            raise ModelError(
                f"{origin} is at {resolved[0]} in a private network; if that is meant, add "
                f"{origin} itself to {SOURCES_SETTING} of ingest"
            )
        return left

    def _matching(self, origin: Origin) -> list[WebSource]:
        return [
            source
            for source in self.sources or ()
            if isinstance(source, WebSource)
            and (source.scheme, source.port) == (origin.scheme, origin.port)
            and (source.host == origin.host or _is_below(origin.host, source.host))
        ]


ANYWHERE = Allowed()
"""For a user who names models on their own machine."""


def allowed_of(settings: Settings) -> Allowed:
    """What a deployment with these settings allows: nothing that they don't name."""
    return Allowed(settings.model_sources)


def is_forbidden(address: IpAddress) -> bool:
    """Whether nobody may connect to this address: link-local, for many, reserved, or where a cloud
    tells secrets.
    """
    real = _real(address)
    return (
        real.is_link_local
        or real.is_multicast
        or real.is_unspecified
        or (real.is_reserved and not real.is_loopback)
        or real in _METADATA
    )


def _ip(text: str) -> IpAddress:
    address = ip_address(text)
    # Without the interface, which makes it another address than that in a set.
    return (
        ip_address(int(address)) if isinstance(address, IPv4Address) else IPv6Address(int(address))
    )


def _real(address: IpAddress) -> IpAddress:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped or address.sixtofour:
        return address.ipv4_mapped or address.sixtofour or address
    if int(address) >> 32 == _NAT64 >> 32:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _is_below(host: str, pattern: str) -> bool:
    return pattern == "*" or (pattern.startswith("*.") and host.endswith(pattern[1:]))
