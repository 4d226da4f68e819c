"""States of a model, such as a decoder's keys and values: in place, or copied as it is written.

Ingest keeps them in place, and proposes what would copy each as a group of one layer
(`STATE_AS_WRITTEN`). No bound takes it for that layer, since it does more.
"""

from msgspec.structs import replace

from benanza_schemas.events import Group, LayerSummary, LayerUse, ModelIngested
from benanza_schemas.vocabulary import STATE_AS_WRITTEN


def fusable_groups(model: ModelIngested) -> tuple[Group, ...]:
    """The groups that may take the place of their layers."""
    return tuple([group for group in model.groups if group.rule != STATE_AS_WRITTEN])


def with_states_copied(model: ModelIngested) -> ModelIngested:
    """The model with the layers that copy its states, and without groups over these. It keeps the
    architecture's id, by which it is asked for, as that of the model's own architecture.
    """
    copying = {group.layers[0]: group for group in model.groups if group.rule == STATE_AS_WRITTEN}
    if not copying:
        return model
    summaries, layers = list(model.summaries), list(model.layers)
    for position, group in copying.items():
        layers[position] = LayerUse(len(summaries), layers[position].name)
        summaries.append(
            LayerSummary(
                op=STATE_AS_WRITTEN,
                domain="",
                kind="movement",
                fingerprint=group.fingerprint,
                flops=group.flops,
                bytes=group.bytes,
            )
        )
    groups = [group for group in fusable_groups(model) if copying.keys().isdisjoint(group.layers)]
    return replace(
        model,
        model_id=model.architecture_id,
        summaries=tuple(summaries),
        layers=tuple(layers),
        groups=tuple(groups),
    )
