"""Ids that are named by their first digits, as tables show them."""

from collections.abc import Collection

from benanza_backbone.errors import BenanzaError


def with_prefix(prefix: str, ids: Collection[str], what: str) -> str | None:
    """The one of these ids that begins so; `None` if none does.

    Raises `BenanzaError` if several do, and none of them is it. `what` they are is for the text.
    """
    if prefix in ids:
        return prefix
    matches = (
        sorted(candidate for candidate in ids if candidate.startswith(prefix)) if prefix else []
    )
    if len(matches) > 1:
        raise BenanzaError(f"several {what} begin with {prefix}: {', '.join(matches)}; give more")
    return matches[0] if matches else None
