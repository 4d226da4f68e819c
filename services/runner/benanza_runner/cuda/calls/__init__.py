"""Calls: what a library is asked to run, in plain numbers. Layers that ask for the same are equal.

The library chooses which layout tensors have in memory. Types of elements are named as in
`elements`.
"""

from benanza_runner.cuda.calls.attention import (
    Attention,
    CachedAttention,
    Pages,
    ProjectedAttention,
    QuantisedCache,
)
from benanza_runner.cuda.calls.collectives import AllGather, AllReduce
from benanza_runner.cuda.calls.compute import (
    AnyConvolution,
    Convolution,
    EightBitProduct,
    Elementwise,
    Matrices,
    MergedProduct,
    Normalisation,
    Operand,
    PackedProduct,
    Pooling,
    Product,
    Softmax,
    TransposedConvolution,
)
from benanza_runner.cuda.calls.experts import ExpertMatrices, MixtureOfExperts
from benanza_runner.cuda.calls.movement import (
    Concatenation,
    ElementGathering,
    ElementScattering,
    Gathering,
    Padding,
    Resizing,
    Scattering,
    Shuffle,
    Splitting,
    View,
)
from benanza_runner.cuda.calls.quantised import Quantised
from benanza_runner.cuda.calls.recurrent import LinearAttention, Recurrence
from benanza_runner.cuda.calls.region import Region
from benanza_runner.cuda.calls.rows import (
    Accumulation,
    Ranking,
    Reduction,
    RowNormalisation,
)
from benanza_runner.cuda.calls.shape import Shape

__all__ = [
    "Accumulation",
    "AllGather",
    "AllReduce",
    "AnyConvolution",
    "Attention",
    "CachedAttention",
    "Call",
    "Concatenation",
    "Convolution",
    "EightBitProduct",
    "ElementGathering",
    "ElementScattering",
    "Elementwise",
    "ExpertMatrices",
    "Gathering",
    "LinearAttention",
    "Matrices",
    "MergedProduct",
    "MixtureOfExperts",
    "Normalisation",
    "Operand",
    "PackedProduct",
    "Padding",
    "Pages",
    "Pooling",
    "Product",
    "ProjectedAttention",
    "Quantised",
    "QuantisedCache",
    "Ranking",
    "Recurrence",
    "Reduction",
    "Region",
    "Resizing",
    "RowNormalisation",
    "Scattering",
    "Shape",
    "Shuffle",
    "Softmax",
    "Splitting",
    "TransposedConvolution",
    "View",
]

Call = (
    Convolution
    | TransposedConvolution
    | Product
    | MergedProduct
    | EightBitProduct
    | PackedProduct
    | Quantised
    | Pooling
    | Softmax
    | Normalisation
    | Elementwise
    | Concatenation
    | Splitting
    | View
    | Shuffle
    | Gathering
    | Scattering
    | ElementGathering
    | ElementScattering
    | Padding
    | Resizing
    | Accumulation
    | Ranking
    | LinearAttention
    | Recurrence
    | Reduction
    | Region
    | RowNormalisation
    | Attention
    | CachedAttention
    | ProjectedAttention
    | MixtureOfExperts
    | AllReduce
    | AllGather
)
