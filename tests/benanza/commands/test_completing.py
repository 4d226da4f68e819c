"""A shell completes what is known, and nothing where nothing can be looked up."""

from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem

from benanza.commands import completing
from benanza.commands.looking.bounds import Different
from benanza.installation import embedded
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.event_log.sqlite_log import SqliteEventLog
from benanza_backbone.service.processor import as_message
from tests.backbone.sample_events import MODEL, SYSTEM_MEASURED

SYSTEM = SYSTEM_MEASURED.system.system_id


def plain(items: list[CompletionItem]) -> list[str]:
    return [item.value for item in items if item.type == "plain"]


def test_models_are_files_until_the_zoo_is_named() -> None:
    assert [item.type for item in completing.models("")] == ["file"]
    assert plain(completing.models("resnet.onn")) == []
    assert "zoo:timm:levit_192" in plain(completing.models("zo"))
    assert plain(completing.models("zoo:sq")) == ["zoo:squeezenet"]
    assert plain(completing.models("zoo:dec")) == ["zoo:decoder:"]
    assert "zoo:decoder:llama-3.1-8b-step" in plain(completing.models("zoo:decoder:ll"))


def test_of_a_list_the_last_part_is_completed_by_what_it_lacks() -> None:
    precisions = ("fp32", "tf32", "fp16", "bf16")
    assert plain(completing.last_of("", precisions)) == list(precisions)
    assert plain(completing.last_of("fp16,fp", precisions)) == ["fp16,fp32"]
    assert plain(completing.last_of("fp8", precisions)) == []


@pytest.fixture
def ctx(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> click.Context:
    """Where `--data` was given."""
    monkeypatch.delenv("BENANZA_KAFKA", raising=False)
    monkeypatch.delenv("BENANZA_CLICKHOUSE", raising=False)
    ctx = click.Context(click.Command("bounds"))
    ctx.params["data"] = tmp_path / "data"
    return ctx


def different(ctx: click.Context, incomplete: str) -> list[str]:
    return plain(Different().shell_complete(ctx, click.Option(["--compare"]), incomplete))


@pytest.mark.integration
def test_models_and_systems_are_those_of_the_store(ctx: click.Context) -> None:
    with Store.open(f"chdb://{ctx.params['data']}/clickhouse") as store:
        store.insert([MODEL, SYSTEM_MEASURED])
    assert plain(completing.known_models(ctx, MODEL.name[:2])) == [MODEL.name]
    assert plain(completing.known_systems(ctx, SYSTEM[:3])) == [SYSTEM]
    assert different(ctx, "system=") == [f"system={SYSTEM}"]


@pytest.mark.integration
def test_without_the_engine_they_are_those_of_the_log(
    ctx: click.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "has_engine", lambda: False)
    ctx.params["data"].mkdir()
    with SqliteEventLog(ctx.params["data"] / "events.sqlite") as log:
        log.append([as_message(event) for event in (MODEL, SYSTEM_MEASURED)])
    assert plain(completing.known_models(ctx, MODEL.name[:2])) == [MODEL.name]
    assert plain(completing.known_systems(ctx, SYSTEM[:3])) == [SYSTEM]


def test_where_nothing_is_known_nothing_is_offered_or_made(ctx: click.Context) -> None:
    assert plain(completing.known_models(ctx, "N")) == []
    assert completing.known_systems(ctx, "") == []
    assert not ctx.params["data"].exists()
    assert different(ctx, "precision=f") == ["precision=fp32", "precision=fp16"]
    assert different(ctx, "s") == ["system="]


def test_a_bad_setting_is_no_error(ctx: click.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENANZA_CLICKHOUSE", "nonsense")
    ctx.params["data"].mkdir()
    assert completing.known_systems(ctx, "") == []
