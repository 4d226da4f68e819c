"""`python -m tests.agents`: a long campaign of faults, with a model that is really evaluated."""

import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

from benanza_backbone.kafka.connection import KafkaConnection
from tests.agents.campaign import AGENTS, campaign
from tests.agents.faults import scheduled
from tests.dense_model import dense_model
from tests.kafka_broker import KafkaBroker


@click.command()
@click.option("--evaluations", default=50, show_default=True)
@click.option("--faults", default=30, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--sleep", "sleep_s", type=float, help="Sleeps so long, and evaluates nothing.")
def main(evaluations: int, faults: int, seed: int, sleep_s: float | None) -> None:
    """Each result has to be there once, and no two at once on a device."""
    began = time.monotonic()

    def happened(what: str) -> None:
        click.echo(f"{time.monotonic() - began:7.1f} s  {what}")

    with tempfile.TemporaryDirectory(prefix="agents-") as folder:
        broker = KafkaBroker(Path(folder) / "kafka")
        broker.start()

        def pause(seconds: float) -> None:
            broker.send_signal(signal.SIGSTOP)
            time.sleep(seconds)
            broker.send_signal(signal.SIGCONT)

        try:
            found = campaign(
                Path(folder),
                KafkaConnection(bootstrap=(broker.bootstrap,)),
                evaluations,
                scheduled(sorted(AGENTS), faults, seed),
                model=dense_model(),
                sleep_s=sleep_s,
                patience_s=300,
                pause_broker=pause,
                happened=happened,
            )
        finally:
            broker.kill()
    takers = Counter(map(len, found.takers.values()))
    click.echo(
        f"{len(found.results)} results of {len(found.wanted)} wanted, "
        f"{sum(found.results.values())} written, {len(found.failures)} given up; "
        f"{found.runs} runs, {takers[2]} taken over; {found.seconds:.0f} s"
    )
    for each in found.wrong():
        click.echo(f"wrong: {each}")
    raise SystemExit(bool(found.wrong()))


if __name__ == "__main__":
    main()
