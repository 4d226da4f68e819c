"""Traces of the services after a command, where OpenTelemetry's standard variables ask for them."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import click

from benanza_backbone.errors import BenanzaError
from benanza_backbone.settings import Settings


def export_traces(settings: Settings, models: Collection[str]) -> None:
    """Exports what the services did for models of these ids or SHA-256. What the command did stands
    without a collector, so that is a warning.
    """
    from benanza.spans.exporting import is_on

    if not is_on(os.environ):
        return
    from benanza.operating.traces import export_services

    with _warned():
        export_services(settings, models, os.environ)


def export_evaluation(settings: Settings, evaluation_id: str) -> None:
    """Exports what came of a request for an evaluation so far, likewise."""
    from benanza.spans.exporting import is_on

    if not is_on(os.environ):
        return
    from benanza.operating.traces import export_request

    with _warned():
        export_request(settings, evaluation_id, os.environ)


@contextmanager
def _warned() -> Iterator[None]:
    try:
        yield
    except BenanzaError as error:
        click.echo(f"warning: {error}", err=True)
