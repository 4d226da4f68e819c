"""`benanza serve dedupe` that crashes as its partitions go to another: in the midst of an answer
to Faust's thread, which then waits for it for ever.

python -m tests.dedupe.crashing_service
"""

import sys
from typing import Any

from faust.tables.recovery import Recovery

from benanza.commands.running.serve import say, settings_of_service
from benanza_dedupe.service import serve


def main() -> int:
    """The exit status."""
    calls = 0

    def crash(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls > 1:  # The first is of its own start, when it has none.
            raise ArithmeticError("partitions revoked")

    Recovery.on_partitions_revoked = crash  # type: ignore[assignment,method-assign]

    settings = settings_of_service()
    return serve(settings, say("dedupe", settings))


if __name__ == "__main__":
    sys.exit(main())
