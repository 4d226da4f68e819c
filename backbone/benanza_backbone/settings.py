"""Settings, from environment variables that begin with `BENANZA_`.

An empty variable counts as unset. A variable with a password may be replaced by one that names a
file with the value: `BENANZA_CLICKHOUSE_FILE` for `BENANZA_CLICKHOUSE`.
"""

import difflib
import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from benanza_backbone.clickhouse.connection import parse_address
from benanza_backbone.document import Document
from benanza_backbone.errors import BenanzaError
from benanza_backbone.kafka.connection import KafkaConnection, SaslMechanism, SecurityProtocol
from benanza_backbone.log import LogFormat
from benanza_backbone.model_sources import BucketSource, ModelSource, parse_bucket, parse_sources

PREFIX = "BENANZA_"

CpuLibraries = Literal["all", "none"]
"""Which libraries run layers on a CPU beside ONNX Runtime: those that are installed, or none."""

T = TypeVar("T")


class ListedSetting(Document, frozen=True):
    """A setting as it is listed for people. `name` is that of its variable, `value` contains no
    password; `source` says where the value comes from.
    """

    name: str
    value: str
    source: str
    description: str


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings from the environment, checked.

    `listed` describes every setting. `unknown` has a line for each variable with the prefix
    `BENANZA_` that is no setting. Such variables are no errors, since Kubernetes adds one to the
    environment for every service that it knows.
    """

    data: Path
    clickhouse: str = field(repr=False)
    kafka: KafkaConnection | None
    log_format: LogFormat
    max_model_bytes: int
    max_nodes: int
    max_tensor_elements: int
    model_sources: tuple[ModelSource, ...]
    model_uploads: BucketSource | None
    benchmark_timeout_s: float
    cpu_libraries: CpuLibraries
    runners: int
    metrics_host: str
    metrics_port: int
    drain_timeout_s: float
    listed: tuple[ListedSetting, ...]
    unknown: tuple[str, ...]

    @property
    def event_log(self) -> Path:
        """The file of the embedded event log."""
        return self.data / "events.sqlite"


def load(environ: Mapping[str, str]) -> Settings:
    """The settings in this environment (`os.environ`).

    Raises `BenanzaError` that names the variable, its value and the allowed values.
    """
    read = _Reader(environ)
    data = read(
        "DATA",
        _folder,
        default=_user_data_folder(environ),
        description="folder of the embedded mode: event log and store",
    )
    return Settings(
        data=data,
        clickhouse=read(
            "CLICKHOUSE",
            _dsn,
            default=f"chdb://{data}/clickhouse",
            description="address of ClickHouse; chdb:// is the engine in this process",
            secret=True,
            show=lambda dsn: parse_address(dsn).shown,
        ),
        kafka=_kafka(read),
        log_format=read(
            "LOG_FORMAT",
            _one_of(LogFormat),
            default="text",
            description="how logs are written to standard error: text or json",
        ),
        max_model_bytes=read(
            "MAX_MODEL_BYTES",
            _count,
            default=str(2**31 - 1),
            description="size of the largest ONNX file, without its external data, in bytes",
        ),
        max_nodes=read(
            "MAX_NODES",
            _count,
            default="200000",
            description="largest number of nodes of a model; a function's count at each call",
        ),
        max_tensor_elements=read(
            "MAX_TENSOR_ELEMENTS",
            _count,
            default=str(2**40),
            description="largest number of elements of a tensor",
        ),
        model_sources=read(
            "MODEL_SOURCES",
            parse_sources,
            default="",
            description="from where ingest over Kafka fetches: https://HOST,s3://BUCKET,file:///…",
            show=lambda sources: ",".join(map(str, sources)),
        ),
        model_uploads=read(
            "MODEL_UPLOADS",
            parse_bucket,
            default="",
            description="where publish uploads files too large for an event: s3://BUCKET/PREFIX",
            show=lambda bucket: str(bucket or ""),
        ),
        benchmark_timeout_s=read(
            "BENCHMARK_TIMEOUT_S",
            _seconds,
            default="60",
            description="longest time for benchmarking one layer, in seconds",
        ),
        cpu_libraries=read(
            "CPU_LIBRARIES",
            _one_of(CpuLibraries),
            default="all",
            description="libraries that run layers on a CPU beside ONNX Runtime: all or none",
        ),
        runners=read(
            "RUNNERS",
            _count,
            default="1",
            description="how many runners, each on a GPU, share this machine's cores and memory",
        ),
        metrics_host=read(
            "METRICS_HOST",
            str,
            default="127.0.0.1",
            description="address of a service's status pages; 0.0.0.0 is all addresses",
        ),
        metrics_port=read(
            "METRICS_PORT",
            _port,
            default="9464",
            description="port of a service's status pages; 0 is any free port",
        ),
        drain_timeout_s=read(
            "DRAIN_TIMEOUT_S",
            _seconds,
            default="30",
            description="longest time in which a service finishes its current work, in seconds",
        ),
        # These two come last, after all settings were read.
        listed=tuple(read.listed),
        unknown=read.unknown(),
    )


def kafka_of(settings: Settings) -> KafkaConnection:
    """Where Kafka is. Raises `BenanzaError` if the settings don't say."""
    if settings.kafka is None:
        raise BenanzaError(
            "a service needs Kafka: set BENANZA_KAFKA to its brokers, as host:port,host:port; "
            "`benanza run` does without"
        )
    return settings.kafka


def _kafka(read: "_Reader") -> KafkaConnection | None:
    bootstrap = read(
        "KAFKA",
        _servers,
        default="",
        description="Kafka's brokers, HOST:PORT,…; if unset, the mode is embedded",
        show=",".join,
    )
    connection = KafkaConnection(
        bootstrap=bootstrap,
        prefix=read(
            "KAFKA_PREFIX",
            _name_part,
            default="",
            description="prefix of the names of topics and groups, on a shared cluster",
        ),
        security_protocol=read(
            "KAFKA_SECURITY_PROTOCOL",
            _one_of(SecurityProtocol),
            default="PLAINTEXT",
            description="protocol for Kafka: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
        ),
        ca_file=read(
            "KAFKA_SECURITY_CA_FILE",
            _file,
            default="",
            description="PEM file of trusted certificates; if unset, those of the system",
        ),
        cert_file=read(
            "KAFKA_SECURITY_CERT_FILE",
            _file,
            default="",
            description="PEM file of this client's own certificate",
        ),
        key_file=read(
            "KAFKA_SECURITY_KEY_FILE",
            _file,
            default="",
            description="PEM file of the key of this client's certificate",
        ),
        sasl_mechanism=read(
            "KAFKA_SECURITY_SASL_MECHANISM",
            _one_of(SaslMechanism),
            default="PLAIN",
            description="mechanism of SASL: PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512",
        ),
        sasl_username=read(
            "KAFKA_SECURITY_USERNAME", str, default="", description="user name for SASL"
        ),
        sasl_password=read(
            "KAFKA_SECURITY_PASSWORD",
            str,
            default="",
            description="password for SASL",
            secret=True,
            show=lambda password: "***" if password else "",
        ),
    )
    return connection if bootstrap else None


class _Reader:
    """Reads one variable after another, and lists each for `Settings.listed`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.listed: list[ListedSetting] = []
        self._environ = {k: v for k, v in environ.items() if k.startswith(PREFIX)}
        self._known: list[str] = []

    def __call__(
        self,
        name: str,
        parse: Callable[[str], T],
        *,
        default: str,
        description: str,
        secret: bool = False,
        show: Callable[[T], str] = str,
    ) -> T:
        variable = PREFIX + name
        self._known += [variable, f"{variable}_FILE"] if secret else [variable]
        text = self._environ.get(variable, "")
        source = "environment"
        if secret and (file := self._environ.get(f"{variable}_FILE")):
            if text:
                raise BenanzaError(f"{variable} and {variable}_FILE are both set: unset one")
            text, source = _content(f"{variable}_FILE", file), f"file {file}"
        if not text:
            text, source = default, "default"
        try:
            value = parse(text)
        except ValueError as error:
            shown = "what it holds" if secret else repr(text)
            raise BenanzaError(f"{variable} can't be {shown} ({source}): {error}") from None
        self.listed.append(ListedSetting(variable, show(value), source, description))
        return value

    def unknown(self) -> tuple[str, ...]:
        """A line for each variable with the prefix that was not read."""
        lines = []
        names = [variable.removeprefix(PREFIX) for variable in self._known]
        for variable in sorted(self._environ.keys() - set(self._known)):
            close = difflib.get_close_matches(variable.removeprefix(PREFIX), names, n=1)
            hint = f"did you mean {PREFIX}{close[0]}?" if close else "unset it"
            lines.append(f"{variable} is no setting: {hint}")
        return tuple(lines)


def _content(variable: str, file: str) -> str:
    try:
        content = Path(file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise BenanzaError(f"{variable} names {file}, which can't be read: {error}") from error
    if not content:
        raise BenanzaError(f"{variable} names {file}, which is empty: write the value into it")
    return content


def _user_data_folder(environ: Mapping[str, str]) -> str:
    """The folder for a user's data, by the XDG Base Directory Specification 0.8."""
    base = environ.get("XDG_DATA_HOME", "")
    # The specification says to ignore relative paths.
    return f"{base}/benanza" if base.startswith("/") else "~/.local/share/benanza"


# Each of these raises `ValueError` with a text that says what is allowed.


def _folder(text: str) -> Path:
    try:
        folder = Path(text).expanduser().absolute()
    except RuntimeError:
        raise ValueError("this user has no such home folder; name another folder") from None
    if re.search(r"[?\x00-\x1f]", str(folder)):
        raise ValueError("it must be a folder that can stand in an address, so without ?")
    return folder


def _dsn(text: str) -> str:
    try:
        parse_address(text)
    except BenanzaError as error:
        raise ValueError(str(error)) from None
    return text


def _one_of(literal: Any) -> Callable[[str], Any]:
    """A parser for the values of a `Literal` of texts."""
    choices = get_args(literal)

    def choice(text: str) -> str:
        if text not in choices:
            raise ValueError(f"it must be {' or '.join(choices)}")
        return text

    return choice


def _servers(text: str) -> tuple[str, ...]:
    servers = tuple(server.strip() for server in text.split(",") if server.strip())
    for server in servers:
        if not re.fullmatch(r"([\w.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}", server):
            raise ValueError(f"{server!r} must be HOST:PORT; separate several by commas")
    if servers and importlib.util.find_spec("kafka") is None:
        raise ValueError("kafka-python isn't installed; say: pip install 'benanza[services]'")
    return servers


def _name_part(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{0,100}", text):
        raise ValueError("it must be made of letters, digits, dots, hyphens and underscores")
    return text


def _file(text: str) -> str:
    if text and not Path(text).is_file():
        raise ValueError("there is no such file")
    return text


def _count(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9_]{0,30}", text):
        raise ValueError("it must be a whole number, at least 1")
    return int(text.replace("_", ""))


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or int(text) > 65535:
        raise ValueError("it must be a port, from 0 to 65535")
    return int(text)


def _seconds(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]+)?", text) or float(text) == 0:
        raise ValueError("it must be a number of seconds above 0")
    return float(text)
