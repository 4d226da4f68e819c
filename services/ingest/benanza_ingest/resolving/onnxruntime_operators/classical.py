"""Results of scalers, linear models, vector machines and trees of ai.onnx.ml, which onnx lacks."""

from math import prod

from benanza_ingest.resolving.onnxruntime_operators.own_node import (
    OwnNode,
    Rule,
    Shape,
    UnknownResultError,
    like,
)

LABELS = ("classlabels_int64s", "classlabels_ints", "classlabels_strings")
"""The attributes of which one names the classes."""


def _rows(node: OwnNode) -> int:
    """A vector is one row."""
    x = node.shape(0)
    return x[0] if len(x) > 1 else 1


def targets(name: str) -> Rule:
    """A number for each row and target; this attribute says how many targets there are."""
    return lambda node: [(_rows(node), node.number(name, 1))]


def classified(node: OwnNode) -> list[Shape]:
    """A label for each row, and a score for each class."""
    labels = next(filter(None, map(node.attributes.get, LABELS)), ())
    return [(_rows(node),), (_rows(node), len(labels))]


def of_vectors(node: OwnNode) -> list[Shape]:
    """A label for each row, and a score for each class; where there are no probabilities, for each
    pair of classes, of two classes for both.
    """
    labels, (rows, classes) = classified(node)
    pairs = bool(node.list("vectors_per_class", [])) and not node.list("prob_a", [])
    return [labels, (rows, max(2, classes * (classes - 1) // 2) if pairs else classes)]


def extracted(node: OwnNode) -> list[Shape]:
    """As many elements of each row as are named. A vector is one row."""
    x = node.shape(0)
    return [(*(x[:-1] or (1,)), prod(node.shape(1)))]


def maps(node: OwnNode) -> list[Shape]:
    """Raises `UnknownResultError`: maps are no tensors."""
    raise UnknownResultError(
        "it makes maps, which no accelerator works on; convert the model without it, as skl2onnx "
        "does with zipmap=False"
    )


def joined(node: OwnNode) -> list[Shape]:
    """All features of a row."""
    return [(_rows(node), sum(node.list("inputdimensions", [])))]


RULES: dict[str, Rule] = {
    "ArrayFeatureExtractor": extracted,
    "FeatureVectorizer": joined,
    "Imputer": like(0),
    "LinearRegressor": targets("targets"),
    "Normalizer": like(0),
    "SVMClassifier": of_vectors,
    "SVMRegressor": lambda node: [(_rows(node), 1)],
    "Scaler": like(0),
    "TreeEnsembleClassifier": classified,
    "TreeEnsembleRegressor": targets("n_targets"),
}
