"""Which agents can do an evaluation, and which constraint the others don't meet."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion

from benanza.agents.results import GIGABYTE, Refusal, Unmet
from benanza_backbone.errors import BenanzaError
from benanza_schemas.events import AgentAnnounced, Constraints, System


def check(constraints: Constraints) -> None:
    """Raises `BenanzaError` for versions that aren't written as PEP 440 has them."""
    try:
        SpecifierSet(constraints.versions)
    except InvalidSpecifier:
        raise BenanzaError(
            f"{constraints.versions!r} are no versions; give a range such as >=1.20,<2"
        ) from None


def system_of(constraints: Constraints, agent: AgentAnnounced) -> System | None:
    """The system of this agent that has the framework; `None` if it has none."""
    named = (system for system in agent.systems if system.runtime == constraints.framework)
    return next(named, None)


def version_of(system: System) -> str:
    """The framework's version; empty if it isn't known."""
    return system.libraries.get(system.runtime, "")


def unmet(constraints: Constraints, agent: AgentAnnounced) -> tuple[Unmet, ...]:
    """The constraints that the agent doesn't meet, all of them; none if it can do it."""
    found: list[Unmet] = []
    if not fnmatchcase(agent.device.lower(), f"*{constraints.device.lower()}*"):
        found.append(Unmet(constraint="device", wanted=constraints.device, found=agent.device))
    system = system_of(constraints, agent)
    if system is None:
        has = ", ".join(sorted(system.runtime for system in agent.systems)) or "none"
        found.append(Unmet(constraint="framework", wanted=constraints.framework, found=has))
    elif not _within(constraints.versions, version_of(system)):
        found.append(
            Unmet(
                constraint="version",
                wanted=f"{constraints.framework} {constraints.versions}",
                found=version_of(system) or "unknown",
            )
        )
    if agent.free_bytes < constraints.memory_bytes:
        found.append(
            Unmet(
                constraint="memory",
                wanted=f"{constraints.memory_bytes / GIGABYTE:.1f} GB free",
                found=f"{agent.free_bytes / GIGABYTE:.1f} GB free",
            )
        )
    return tuple(found)


def matched(
    constraints: Constraints, agents: Iterable[AgentAnnounced]
) -> tuple[tuple[System, ...], tuple[Refusal, ...]]:
    """The systems on which some agent can do it, each once, and what the other agents lack."""
    systems: dict[str, System] = {}
    refusals: list[Refusal] = []
    for agent in sorted(agents, key=lambda agent: agent.name):
        system = system_of(constraints, agent)
        lacking = unmet(constraints, agent)
        if system is None or lacking:
            refusals.append(Refusal(agent=agent.name, device=agent.device, unmet=lacking))
        else:
            systems[system.system_id] = system
    return tuple(systems.values()), tuple(refusals)


def _within(versions: str, version: str) -> bool:
    if not versions:
        return True
    try:
        return SpecifierSet(versions).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):  # an event may hold any text
        return False
