"""Models that are fetched once, however often they are read."""

from benanza_ingest.limits import Limits
from benanza_ingest.reading.source import FetchedModel, fetch


class FetchedOnce:
    """Fetches as `fetch` does, and keeps every model in memory for whoever reads it again."""

    def __init__(self) -> None:
        self._kept: dict[str, FetchedModel] = {}

    def __call__(self, model: str, limits: Limits, sha256: str | None = None) -> FetchedModel:
        """MODEL, or the address that it was found at; raises `ModelError` as `fetch` does."""
        kept = self._kept.get(model)
        if kept is None or (sha256 is not None and sha256.lower() != kept.sha256):
            kept = fetch(model, limits, sha256)
            self._kept |= {model: kept, kept.uri: kept}
        return kept

    def whole(self, model: str, limits: Limits) -> bytes:
        """All bytes of MODEL's file, with the data of its weights: a large one is read again, and
        isn't kept. Raises `ModelError` as `fetch` does.
        """
        kept = self(model, limits)
        if kept.whole:
            return kept.content
        parts: list[bytes] = []
        fetch(kept.uri, limits, kept.sha256, copy=parts.append)
        return b"".join(parts)
