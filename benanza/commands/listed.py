"""The commands: where each is, and what it does in a line, so that help needs to import none."""

from collections.abc import Mapping
from typing import NamedTuple


class Listed(NamedTuple):
    """A command. `where` is its module below `benanza.commands`, whose function has the module's
    name; `does` is the first sentence of its help.
    """

    name: str
    where: str
    does: str


SECTIONS: Mapping[str, tuple[Listed, ...]] = {
    "Measure": (
        Listed("inspect", "looking.inspect", "The layers of MODEL, or what its weights hold."),
        Listed("run", "running.run", "Lower bounds: how fast each MODEL could run here."),
        Listed("publish", "publishing.publish", "Publishes models to the services."),
        Listed("profile", "looking.profile", "Times each MODEL in a framework, call by call."),
        Listed("trace", "looking.trace", "Where the time of a recorded run went."),
        Listed("witness", "looking.witness", "Runs each MODEL as its lower bound says."),
        Listed("gate", "running.gate", "Checks each MODEL's run against limits, for CI."),
        Listed("evaluate", "running.evaluate", "Runs MODEL in a framework under load."),
        Listed(
            "evaluations",
            "agents.evaluations",
            "What agents are asked to evaluate, and what came of it.",
        ),
        Listed(
            "pipeline", "running.pipeline", "Writes a specification of MODEL with DATA, in TOML."
        ),
        Listed("solve", "tasks.solve", "Tries a kernel for a task, which may move bounds."),
        Listed("zoo", "publishing.zoo", "Models to try, one a line."),
        Listed("export", "publishing.export", "Exports a PyTorch model by NAME, without weights."),
    ),
    "Look": (
        Listed(
            "bounds", "looking.bounds", "The bounds known now, or as they were known at a time."
        ),
        Listed("explain", "looking.explain", "Where the time of the bounds of MODEL goes."),
        Listed(
            "what-if", "looking.what_if", "What the bounds of MODEL would be under other policies."
        ),
        Listed("advise", "looking.advise", "What would make MODEL faster in a framework."),
        Listed(
            "questions",
            "looking.questions",
            "The six questions of Benanza's paper, for each MODEL.",
        ),
        Listed(
            "generation",
            "looking.generation",
            "What the tokens take that the decoder STEP generates.",
        ),
        Listed("history", "looking.history", "What moved the bounds of MODEL, and when."),
        Listed("layers", "looking.layers", "The unique layers and groups, and what they cost."),
        Listed("sql", "looking.sql", "What a statement in SQL returns that asks the store."),
        Listed("tasks", "tasks.tasks", "Which calls of MODEL want a faster kernel, as tasks."),
    ),
    "Share": (
        Listed(
            "report", "looking.report", "Writes what is known of each MODEL into one HTML file."
        ),
        Listed(
            "import",
            "importing.import_recordings",
            "Imports measurements that were recorded on another system.",
        ),
        Listed("spec", "looking.spec", "What a bound of MODEL was found with, in JSON."),
        Listed("suite", "suites.suite", "Networks that make up models, to be timed elsewhere."),
    ),
    "Operate": (
        Listed(
            "status",
            "operating.status",
            "What is ingested and measured, what waits, and who works.",
        ),
        Listed(
            "dead-letters",
            "operating.dead_letters",
            "What the services could not process: look, replay, drop.",
        ),
        Listed("replay", "operating.replay", "Has a service read again what it has read before."),
        Listed("retry", "operating.retry", "Asks for layers again that could not be measured."),
        Listed("forget", "operating.forget", "Takes each MODEL out of what commands show."),
        Listed(
            "prune",
            "operating.prune",
            "Takes out of the embedded log what has been replaced since.",
        ),
        Listed("topics", "operating.topics", "Makes the topics that Kafka lacks."),
        Listed("agents", "agents.agents", "Who evaluates models for others, and with what."),
        Listed("serve", "running.serve", "One service, until SIGTERM or Ctrl-C."),
        Listed(
            "seed-known-layers",
            "operating.seed_known_layers",
            "Tells dedupe which layers have a job: those in ClickHouse.",
        ),
    ),
    "Set up": (
        Listed(
            "check-config",
            "operating.check_config",
            "Every setting, and whether what it names answers.",
        ),
        Listed("completion", "completion", "The script that completes commands in a shell."),
    ),
}
"""The sections of help, with their commands in the order in which they are shown."""
