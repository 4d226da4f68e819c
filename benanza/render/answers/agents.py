"""Agents and evaluations, for people."""

from rich.console import Console
from rich.text import Text

from benanza.agents.results import (
    GIGABYTE,
    Agents,
    EvaluationOnSystem,
    RequestedEvaluation,
    RequestedEvaluations,
)
from benanza.render.systems import ID_SHOWN
from benanza.render.table import Column, fitted, names, printable, prose

AGENTS = (
    names("agent"),
    names("device"),
    prose("frameworks"),
    Column("free GB", spare=1),
    Column("seen (UTC)", "left"),
)
EVALUATIONS = (
    Column("id", "left"),
    names("model"),
    Column("scenario", "left", spare=2),
    names("device"),
    Column("framework", "left", spare=1),
    Column("state", "left"),
    Column("p99 µs"),
    Column("per s"),
)


def print_agents(console: Console, agents: Agents) -> None:
    """Prints a row for each agent."""
    if not agents.agents:
        console.print("no agents are there; start one: benanza serve agent")
        return
    rows = [
        (
            agent.agent,
            agent.device,
            ", ".join(f"{name} {version}" for name, version in sorted(agent.frameworks.items())),
            f"{agent.free_bytes / GIGABYTE:.1f} of {agent.memory_bytes / GIGABYTE:.1f}",
            f"{agent.seen_at:%H:%M:%S}{', gone' if agent.gone else ''}",
        )
        for agent in agents.agents
    ]
    console.print(fitted(AGENTS, rows, _width(console)))


def print_evaluations(console: Console, evaluations: RequestedEvaluations) -> None:
    """Prints a row for each system of each evaluation, and a line of why where it isn't done."""
    if not evaluations.evaluations:
        console.print("no evaluations were asked for: benanza evaluations request MODEL")
        return
    rows = [_row(each, on) for each in evaluations.evaluations for on in each.systems]
    console.print(fitted(EVALUATIONS, rows, _width(console)))
    for each in evaluations.evaluations:
        for on in each.systems:
            if said := "; ".join(filter(None, (_taken_over(on), on.why))):
                line = f"{each.evaluation_id[:ID_SHOWN]} on {on.device or on.system_id[:ID_SHOWN]}"
                console.print(Text(printable(f"{line}: {said}")))


def print_requested(console: Console, requested: RequestedEvaluation) -> None:
    """Prints what was asked of whom, and why not of others."""
    for refusal in requested.refusals:
        why = "; ".join(map(str, refusal.unmet))
        console.print(Text(printable(f"not on {refusal.agent} ({refusal.device}): {why}")))
    if requested.warning:
        console.print(Text(printable(f"warning: {requested.warning}")))
    on = ", ".join(
        f"{each.device} ({requested.framework} {each.version})" for each in requested.systems
    )
    identity = requested.evaluation_id[:ID_SHOWN]
    console.print(Text(printable(f"evaluation {identity} of {requested.model} is asked of {on}")))


def _taken_over(on: EvaluationOnSystem) -> str:
    return f"taken over by {on.agent}" if on.taken_over and on.agent else ""


def _width(console: Console) -> int | None:
    return console.width if console.is_terminal else None


def _row(evaluation: RequestedEvaluation, on: EvaluationOnSystem) -> tuple[str, ...]:
    figures = on.figures
    return (
        evaluation.evaluation_id[:ID_SHOWN],
        evaluation.model,
        evaluation.scenario,
        on.device or on.system_id[:ID_SHOWN],
        f"{evaluation.framework} {on.version}",
        on.state,
        f"{figures['p99_us']:,.0f}" if "p99_us" in figures else "",
        f"{figures['per_s']:,.1f}" if "per_s" in figures else "",
    )
