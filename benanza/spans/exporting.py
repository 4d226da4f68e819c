"""Whether traces are to be exported, by OpenTelemetry's standard variables.

Source: https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/. Nothing
of OpenTelemetry is imported where they don't ask for it, as that takes a while.
"""

from collections.abc import Mapping

from benanza.spans.trace import SpanTrace
from benanza_backbone.errors import BenanzaError

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
EXPORTERS = "OTEL_TRACES_EXPORTER"


def is_on(environ: Mapping[str, str]) -> bool:
    """Whether a collector is named, or OTLP as the exporter, and nothing says otherwise."""
    if environ.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return False
    exporters = [name.strip() for name in environ.get(EXPORTERS, "").split(",") if name.strip()]
    return "otlp" in exporters or (not exporters and any(environ.get(name) for name in ENDPOINTS))


def export_asked(trace: SpanTrace, environ: Mapping[str, str]) -> None:
    """Exports the trace if `is_on`. Raises `BenanzaError` without the extra `otlp`, for a protocol
    other than `http/protobuf` and an address of another, and if no collector takes it.
    """
    if not is_on(environ):
        return
    name = next((name for name in PROTOCOLS if environ.get(name)), "")
    if name and environ[name] != "http/protobuf":
        raise BenanzaError(f"{name} is {environ[name]}; traces are sent as http/protobuf alone")
    name = next((name for name in ENDPOINTS if environ.get(name)), "")
    if name and not environ[name].startswith(("http://", "https://")):
        raise BenanzaError(f"{name} is no address such as http://localhost:4318: {environ[name]}")
    try:
        from benanza.spans.otlp import export
    except ImportError as error:
        raise BenanzaError(
            f"OpenTelemetry can't be loaded: {error}; say: pip install 'benanza[otlp]'"
        ) from error
    export(trace)
