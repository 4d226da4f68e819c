"""A layer to the one call that runs it, with the operands of the call."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from benanza_runner.arrays import Array
from benanza_runner.cuda.calls import Call, Shape
from benanza_runner.cuda.elements import element
from benanza_runner.cuda.lowering.attention.attention import (
    is_attention,
    lower_attention,
)
from benanza_runner.cuda.lowering.attention.cached_attention import GROUPED, lower_cached_attention
from benanza_runner.cuda.lowering.attention.linear_attention import LINEAR, lower_linear_attention
from benanza_runner.cuda.lowering.attention.multi_head import MULTI_HEAD, lower_multi_head
from benanza_runner.cuda.lowering.attention.paged_attention import PAGED, lower_paged_attention
from benanza_runner.cuda.lowering.attention.projected_attention import (
    PROJECTED,
    lower_projected_attention,
)
from benanza_runner.cuda.lowering.attention.sinks import has_sinks, lower_attention_with_sinks
from benanza_runner.cuda.lowering.collectives import lower_collective
from benanza_runner.cuda.lowering.elementwise.chains import is_chain, lower_elementwise
from benanza_runner.cuda.lowering.elementwise.generated import GENERATED, lower_generated
from benanza_runner.cuda.lowering.folding import FOLDINGS
from benanza_runner.cuda.lowering.gathering import GATHERINGS
from benanza_runner.cuda.lowering.integers.integer_product import (
    lower_integer_product,
    refuse_integer_convolution,
)
from benanza_runner.cuda.lowering.integers.packed_product import (
    CODED,
    PACKED,
    lower_coded_product,
    lower_packed_product,
)
from benanza_runner.cuda.lowering.integers.quantised import (
    is_quantised,
    lower_quantised,
    product_of,
    with_float_weights,
)
from benanza_runner.cuda.lowering.integers.weight_only import is_weight_only, lower_weight_only
from benanza_runner.cuda.lowering.movement import MOVEMENTS, is_shuffle, lower_shuffle
from benanza_runner.cuda.lowering.norms import NORMS, is_norm_of_sum, lower_norm_of_sum
from benanza_runner.cuda.lowering.pad_resize import PAD_RESIZE
from benanza_runner.cuda.lowering.poolings import POOLINGS
from benanza_runner.cuda.lowering.products.convolution import lower_convolution
from benanza_runner.cuda.lowering.products.einsum import is_ordering, lower_ordering
from benanza_runner.cuda.lowering.products.experts import EXPERTS, lower_experts
from benanza_runner.cuda.lowering.products.fused_product import (
    FUSED_PRODUCTS,
    lower_fused_product,
)
from benanza_runner.cuda.lowering.products.merged import (
    is_merged_product,
    lower_merged_product,
)
from benanza_runner.cuda.lowering.products.product import is_product, lower_product
from benanza_runner.cuda.lowering.products.prologue import has_prologue
from benanza_runner.cuda.lowering.rankings import RANKINGS
from benanza_runner.cuda.lowering.recurrent import RECURRENT
from benanza_runner.cuda.lowering.reductions import REDUCTIONS
from benanza_runner.cuda.lowering.regions.dynamic_quantisation import (
    DYNAMIC_QUANTISATION,
    lower_dynamic_quantisation,
)
from benanza_runner.cuda.lowering.regions.gathered_blocks import (
    GATHERED_BLOCKS,
    lower_gathered_blocks,
)
from benanza_runner.cuda.lowering.regions.grid_sampling import GRID_SAMPLING, lower_grid_sampling
from benanza_runner.cuda.lowering.regions.lower_region import lower_region
from benanza_runner.cuda.lowering.regions.scaled_blocks import (
    is_scaled_by_blocks,
    lower_scaled_blocks,
)
from benanza_runner.cuda.lowering.regions.scattered_tokens import (
    SCATTERED_TOKENS,
    lower_scattered_tokens,
)
from benanza_runner.cuda.lowering.written_out.on_integers import is_on_integers, on_floats
from benanza_runner.cuda.lowering.written_out.operators import (
    DOMAIN,
    consists_of_others,
    in_standard_operators,
)
from benanza_runner.cuda.unsupported import UnsupportedError
from benanza_runner.onnx_layers.collectives import is_collective
from benanza_schemas.element_types import FLOATS
from benanza_schemas.layer import OMITTED, Layer, Operator


class Lowered(NamedTuple):
    """A call, and its operands by the names that the call gives them, in ONNX's layout.

    `weights` names the operands that the model fixes.
    """

    call: Call
    operands: dict[str, Array]
    weights: frozenset[str]

    def computed(self) -> dict[str, Shape]:
        """The shapes of the other operands, by name."""
        return {n: array.shape for n, array in self.operands.items() if n not in self.weights}


def reads(lowered: Lowered, values: Mapping[int, Array]) -> dict[str, int]:
    """By name, the position of the layer's input that an operand is, for all but weights.

    Raises `UnsupportedError` if an operand was computed from an input.
    """
    positions = {id(array): position for position, array in values.items()}
    input_positions = {}
    for name, array in lowered.operands.items():
        if name not in lowered.weights:
            if id(array) not in positions:
                raise UnsupportedError(f"the operand {name} is computed from an input")
            input_positions[name] = positions[id(array)]
    return input_positions


Lower = Callable[[Layer, Mapping[int, Array]], Lowered]

Single = Callable[[Layer, Mapping[int, Array]], tuple[Call, dict[str, Array]]]

_CHAINS: dict[str, Lower] = {
    "Conv": lambda layer, values: Lowered(*lower_convolution(layer, values)),
    "ConvTranspose": lambda layer, values: Lowered(*lower_convolution(layer, values)),
}
_AS_REGIONS: dict[str, Lower] = {
    DYNAMIC_QUANTISATION: lambda layer, values: Lowered(*lower_dynamic_quantisation(layer, values)),
    SCATTERED_TOKENS: lambda layer, values: Lowered(*lower_scattered_tokens(layer, values)),
    GRID_SAMPLING: lambda layer, values: Lowered(*lower_grid_sampling(layer, values)),
}
_SINGLE: dict[str, Single] = (
    {
        "ConvInteger": refuse_integer_convolution,
        "Einsum": lower_ordering,
        "MatMulInteger": lower_integer_product,
    }
    | FOLDINGS
    | MOVEMENTS
    | GATHERINGS
    | PAD_RESIZE
    | RANKINGS
    | NORMS
    | POOLINGS
    | REDUCTIONS
    | RECURRENT
)
_WITH_SEVERAL_OUTPUTS = frozenset(("Split", "TopK", *RECURRENT))


def lower(layer: Layer, values: Mapping[int, Array]) -> Lowered:
    """The call for a layer whose inputs have these values, by their positions.

    Whatever follows from weights alone is computed here: batch normalisations after a convolution
    are folded into its filter and bias, and so are those before it where that is exact. Raises
    `UnsupportedError`, whose text says why no call runs the layer.
    """
    first = layer.operators[0]
    if is_collective(layer):
        return Lowered(*lower_collective(layer, values))
    own = first.op_type if first.domain == DOMAIN and len(layer.operators) == 1 else ""
    if own in (PACKED, CODED):
        lower_packed = lower_packed_product if own == PACKED else lower_coded_product
        call, operands = lower_packed(layer, values)
        return Lowered(call, operands, _weights(layer, values, operands))
    if own == GROUPED:
        return Lowered(*lower_cached_attention(layer, values))
    if own == PAGED:
        return Lowered(*lower_paged_attention(layer, values))
    if own == MULTI_HEAD:
        return Lowered(*lower_multi_head(layer, values))
    if own == PROJECTED:
        return Lowered(*lower_projected_attention(layer, values))
    if layer.title() == LINEAR:
        return Lowered(*lower_linear_attention(layer, values))
    if own in EXPERTS:
        return Lowered(*lower_experts(layer, values))
    if own in FUSED_PRODUCTS:
        _refuse_integers(layer)
        return Lowered(*lower_fused_product(layer, values))
    if own == GATHERED_BLOCKS:
        return Lowered(*lower_gathered_blocks(layer, values))
    if is_on_integers(layer):
        return lower(on_floats(layer), values)
    if consists_of_others(layer):
        return lower(in_standard_operators(layer), values)
    if is_scaled_by_blocks(layer):
        return Lowered(*lower_scaled_blocks(layer, values))
    if is_weight_only(layer):
        return Lowered(*lower_weight_only(layer, values))
    if _has_empty(layer):
        raise UnsupportedError(f"{layer.title()} reads or writes an empty tensor")
    for tensor in layer.tensors:
        if tensor.value is None:
            element(tensor.dtype)
    if layer.title() in _AS_REGIONS:
        return _AS_REGIONS[layer.title()](layer, values)
    if len(layer.operators) > 1 and len(layer.outputs) > 1:
        if is_merged_product(layer):
            return Lowered(*lower_merged_product(layer, values))
        return Lowered(*lower_region(layer, values, lower))
    if is_attention(layer):
        return Lowered(*lower_attention(layer, values))
    if has_sinks(layer):
        return Lowered(*lower_attention_with_sinks(layer, values))
    if is_quantised(layer):
        if _is_depthwise(layer, product_of(layer)):
            return Lowered(*lower_region(*with_float_weights(layer, values), lower))
        return Lowered(*lower_quantised(layer, values))
    if is_norm_of_sum(layer):
        call, operands = lower_norm_of_sum(layer, values)
        return Lowered(call, operands, _weights(layer, values, operands))
    if is_shuffle(layer):
        call, operands = lower_shuffle(layer, values)
        return Lowered(call, operands, _weights(layer, values, operands))
    if has_prologue(layer):
        _refuse_integers(layer)
        return Lowered(*lower_convolution(layer, values))
    if is_product(layer) and not (first.op_type == "Einsum" and is_ordering(first)):
        _refuse_integers(layer)
        return Lowered(*lower_product(layer, values))
    if first.op_type in _CHAINS:
        _refuse_integers(layer)
        try:
            return _CHAINS[first.op_type](layer, values)
        except UnsupportedError:
            if len(layer.operators) == 1 or not _is_depthwise(layer, first):
                raise
            return Lowered(*lower_region(layer, values, lower))
    if len(layer.operators) == 1 and first.op_type in _SINGLE:
        if first.op_type in POOLINGS:
            _refuse_integers(layer)
        if len(layer.outputs) > 1 and first.op_type not in _WITH_SEVERAL_OUTPUTS:
            raise UnsupportedError(f"{layer.title()} with several outputs is not supported yet")
        call, operands = _SINGLE[first.op_type](layer, values)
        return Lowered(call, operands, _weights(layer, values, operands))
    if len(layer.operators) == 1 and first.op_type in GENERATED:
        return Lowered(*lower_generated(layer, values))
    if len(layer.operators) > 1 and not is_chain(layer):
        return Lowered(*lower_region(layer, values, lower))
    return Lowered(*lower_elementwise(layer, values))


def _has_empty(layer: Layer) -> bool:
    """Whether a layer reads or writes an empty tensor other than a part of a Concat."""
    joins = layer.title() == "Concat"
    places = layer.outputs if joins else range(len(layer.tensors))
    tensors = [layer.tensors[place] for place in places]
    return any(0 in tensor.shape for tensor in tensors if tensor.value is None)


def _is_depthwise(layer: Layer, operator: Operator) -> bool:
    """Whether an operator convolves each channel with a filter of its own."""
    if operator.op_type != "Conv":
        return False
    x, filters = (layer.tensors[index] for index in operator.inputs[:2])
    return filters.shape[:2] == (*x.shape[1:2], 1)


def _refuse_integers(layer: Layer) -> None:
    places = {i for each in layer.operators for i in each.inputs + each.outputs if i != OMITTED}
    tensors = [layer.tensors[place] for place in sorted(places)]
    other = next((t.dtype for t in tensors if t.value is None and t.dtype not in FLOATS), "")
    if other:
        raise UnsupportedError(f"{layer.title()} with {other} is not supported yet")


def _weights(
    layer: Layer, values: Mapping[int, Array], operands: dict[str, Array]
) -> frozenset[str]:
    """The names of the operands that are constants of the layer."""
    fixed = [values[i] for i in layer.inputs() if layer.tensors[i].constant and i in values]
    return frozenset(
        name for name, array in operands.items() if any(array is constant for constant in fixed)
    )
