"""The ids of models that a user names."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from benanza.prefixes import with_prefix
from benanza_backbone.clickhouse.bounds import ModelBound
from benanza_backbone.clickhouse.queries import MODEL_NAMES
from benanza_backbone.clickhouse.store import Store
from benanza_backbone.errors import BenanzaError
from benanza_backbone.pasteable import pasteable
from benanza_ingest.errors import ModelError
from benanza_ingest.limits import Limits
from benanza_schemas.events.derivation import AS_WRITTEN, Derivation

MODEL_IDS = """
SELECT
    arrayJoin([name, model_id, if(quantised = '' AND tensor_parallel = 1, sha256, model_id)])
        AS model,
    arraySort(groupUniqArray(model_id)) AS ids
FROM models
WHERE has({models:Array(String)}, name)
   OR has({models:Array(String)}, model_id)
   OR has({models:Array(String)}, sha256)
GROUP BY model
"""

DIGITS = "[0-9a-f]{6,64}"
"""What is taken for the beginning of an id. With fewer digits it is rather a name."""

FILES = "SELECT DISTINCT model_id, sha256, quantised, tensor_parallel FROM models"


class StoredFile(NamedTuple):
    """A file by its SHA-256, and what was derived of it."""

    sha256: str
    derivation: Derivation


def model_ids(store: Store, models: Sequence[str], limits: Limits) -> list[str]:
    """The ids of models: one for each batch size and choice of named dimensions.

    A model is named as for `run`, by the name that a table of bounds shows, or by its id or its
    file's SHA-256, of which the first digits will do. A file stands for the model as it is written:
    what was derived of it goes by its own name or id. Raises `BenanzaError` for one that isn't in
    the store, and for digits with which those of several files begin.
    """
    known = _ids(store, models)
    for model in models:
        if model not in known:
            known[model] = _with_digits(store, model)
    digests = {model: _digest(store, model, limits) for model, ids in known.items() if not ids}
    of_files = _ids(store, digests.values()) if digests else {}
    for model, digest in digests.items():
        if digest not in of_files:
            raise BenanzaError(
                f"nothing is known of {model}; say: {pasteable('benanza', 'run', model)}, or "
                f"{pasteable('benanza', 'publish', model)} where its layers are measured already"
            )
        known[model] = of_files[digest]
    return [identity for model in models for identity in known[model]]


def _digest(store: Store, model: str, limits: Limits) -> str:
    """The SHA-256 of a model's file. Raises `BenanzaError` if there is none."""
    # Here, since most models are known, and what reads others takes a while to import.
    from benanza_ingest.reading.source import fetch

    try:
        return fetch(model, limits).sha256
    except ModelError as error:
        names = [row["name"] for row in store.query(MODEL_NAMES)]
        if likes := get_close_matches(model.removeprefix("zoo:"), names):
            raise BenanzaError(
                f"nothing is known of {model}; did you mean {' or '.join(likes)}?"
            ) from error
        raise BenanzaError(f"nothing is known of {model}, and {error}") from error


def files_of(store: Store) -> dict[str, StoredFile]:
    """The file of each model id."""
    return {
        row["model_id"]: StoredFile(
            row["sha256"], Derivation(row["quantised"], row["tensor_parallel"])
        )
        for row in store.query(FILES)
    }


def of_the_same_file(store: Store, bounds: Sequence[ModelBound]) -> dict[str, list[ModelBound]]:
    """For each model id of these bounds, those that are of the same file, with the same derived of
    it.
    """
    files = files_of(store)
    by_file: dict[StoredFile, list[ModelBound]] = {}
    for bound in bounds:
        by_file.setdefault(files[bound.model_id], []).append(bound)
    return {bound.model_id: by_file[files[bound.model_id]] for bound in bounds}


def _ids(store: Store, models: Iterable[str]) -> dict[str, list[str]]:
    """The ids of those of these models that have them as names, ids or SHA-256."""
    # A path need not be Unicode; a name in the store is.
    asked = {model: model.encode(errors="backslashreplace").decode() for model in models}
    rows = store.query(MODEL_IDS, {"models": list(asked.values())})
    ids = {row["model"]: row["ids"] for row in rows}
    return {model: ids[stored] for model, stored in asked.items() if stored in ids}


def _with_digits(store: Store, digits: str) -> list[str]:
    """The ids of what is named by the first digits of an id or of a SHA-256."""
    if not re.fullmatch(DIGITS, digits):
        return []
    files = files_of(store)
    written = {
        identity: file.sha256 for identity, file in files.items() if file.derivation == AS_WRITTEN
    }
    what = with_prefix(digits, {*files, *written.values()}, "models and files")
    return sorted(identity for identity in files if what in (identity, written.get(identity)))
