"""Layers of any form, and the same layer written differently."""

from hypothesis import strategies as st

from benanza_schemas.layer import (
    OMITTED,
    Attribute,
    AttributeValue,
    Layer,
    Operator,
    Tensor,
    TensorValue,
)

attribute_values: st.SearchStrategy[AttributeValue] = st.one_of(
    st.integers(-2, 2),
    st.floats(allow_nan=False),
    st.sampled_from(("", "SAME_UPPER")),
    st.lists(st.integers(0, 3), max_size=3).map(tuple),
    st.builds(TensorValue, st.just("int64"), st.just((1,)), st.binary(min_size=8, max_size=8)),
)
attributes = st.dictionaries(
    st.sampled_from(("axis", "group", "pads", "value")), attribute_values, max_size=2
).map(lambda found: tuple(Attribute(name, found[name]) for name in sorted(found)))
tensors = st.builds(
    Tensor,
    dtype=st.sampled_from(("float32", "float16")),
    shape=st.lists(st.integers(0, 3), max_size=3).map(tuple),
    constant=st.booleans(),
    value=st.none() | st.binary(max_size=4),
)


@st.composite
def layers(
    draw: st.DrawFn,
    max_operators: int = 5,
    tensors: st.SearchStrategy[Tensor] = tensors,
    op_types: tuple[str, ...] = ("Add", "Conv", "Relu"),
    attributes: st.SearchStrategy[tuple[Attribute, ...]] = attributes,
) -> Layer:
    """Well-formed layers. What nobody inside reads is an output, and some of the rest are."""
    made = [draw(tensors) for _ in range(draw(st.integers(1, 3)))]
    operators: list[Operator] = []
    written: list[int] = []
    for _ in range(draw(st.integers(1, max_operators))):
        reads = draw(st.lists(st.integers(OMITTED, len(made) - 1), min_size=1, max_size=3))
        writes = list(range(len(made), len(made) + draw(st.integers(1, 2))))
        made += [draw(tensors) for _ in writes]
        written += writes
        if len(writes) == 2 and draw(st.booleans()):
            written.remove(writes[0])
            writes[0] = OMITTED
        operators.append(
            Operator(
                op_type=draw(st.sampled_from(op_types)),
                domain=draw(st.sampled_from(("", "com.example"))),
                version=draw(st.sampled_from((1, 13))),
                attributes=draw(attributes),
                inputs=tuple(reads),
                outputs=tuple(writes),
            )
        )
    read = {index for operator in operators for index in operator.inputs}
    extra = {i for i in written if i in read and draw(st.booleans())}
    outputs = [index for index in written if index not in read or index in extra]
    return Layer(tuple(made), tuple(operators), tuple(outputs))


@st.composite
def rewritten(draw: st.DrawFn, layer: Layer) -> Layer:
    """The same layer under other names and in another order."""
    order = draw(st.permutations(range(len(layer.tensors))))
    place = {index: order.index(index) for index in range(len(order))} | {OMITTED: OMITTED}
    operators = []
    for at in draw(topological_orders(layer)):
        operator = layer.operators[at]
        tail = (OMITTED,) * draw(st.integers(0, 1))
        operators.append(
            Operator(
                op_type=operator.op_type,
                domain=operator.domain,
                version=operator.version,
                attributes=tuple(draw(st.permutations(operator.attributes))),
                inputs=(*(place[i] for i in operator.inputs), *tail),
                outputs=(*(place[i] for i in operator.outputs), *tail),
            )
        )
    return Layer(
        tensors=tuple(layer.tensors[index] for index in order),
        operators=tuple(operators),
        outputs=tuple(place[index] for index in draw(st.permutations(layer.outputs))),
    )


@st.composite
def topological_orders(draw: st.DrawFn, layer: Layer) -> list[int]:
    """Any order of a layer's operators in which each comes after those it reads from."""
    waiting = set(range(len(layer.operators)))
    pending = {index for operator in layer.operators for index in operator.outputs} - {OMITTED}
    order: list[int] = []
    while waiting:
        ready = [n for n in sorted(waiting) if not pending & set(layer.operators[n].inputs)]
        chosen = draw(st.sampled_from(ready))
        waiting.remove(chosen)
        pending -= set(layer.operators[chosen].outputs)
        order.append(chosen)
    return order
