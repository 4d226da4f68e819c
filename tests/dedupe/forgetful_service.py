"""`benanza serve dedupe` that loses some of what it has fetched, as Faust may in a rebalance:

python -m tests.dedupe.forgetful_service [all]

With `all` it loses the first events whatever they are, and no event comes that shows it.
"""

import random
import sys
from typing import Any

from mode.utils.queues import FlowControlQueue

from benanza.commands.running.serve import say, settings_of_service
from benanza_dedupe.service import serve

LOST_AT_MOST = 30
CHANCE = 0.05


def main() -> int:
    """The exit status."""
    chance = random.Random(7)
    share = 1.0 if "all" in sys.argv[1:] else CHANCE
    put = FlowControlQueue.force_put_nowait
    lost = 0

    def put_or_lose(queue: FlowControlQueue[Any], item: Any) -> None:
        nonlocal lost
        if lost < LOST_AT_MOST and chance.random() < share:
            lost += 1
            item.message.acked = True  # as of what Faust drops: a stop doesn't wait for it
        else:
            put(queue, item)

    FlowControlQueue.force_put_nowait = put_or_lose  # type: ignore[method-assign]
    settings = settings_of_service()
    return serve(settings, say("dedupe", settings))


if __name__ == "__main__":
    sys.exit(main())
