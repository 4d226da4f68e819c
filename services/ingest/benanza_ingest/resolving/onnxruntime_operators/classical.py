"""Results of scalers, linear models, vector machines and trees of ai.onnx.ml, which onnx lacks."""

from benanza_ingest.resolving.onnxruntime_operators.own_node import OwnNode, Rule, Shape, like


def _rows(node: OwnNode) -> int:
    """A vector is one row."""
    x = node.shape(0)
    return x[0] if len(x) > 1 else 1


def targets(name: str) -> Rule:
    """A number for each row and target; this attribute says how many targets there are."""
    return lambda node: [(_rows(node), node.number(name, 1))]


def classified(node: OwnNode) -> list[Shape]:
    """A label for each row, and a score for each class."""
    ints = node.attributes.get("classlabels_int64s") or ()
    return [(_rows(node),), (_rows(node), len(ints) or len(node.attributes["classlabels_strings"]))]


def joined(node: OwnNode) -> list[Shape]:
    """All features of a row."""
    return [(_rows(node), sum(node.list("inputdimensions", [])))]


RULES: dict[str, Rule] = {
    "FeatureVectorizer": joined,
    "Imputer": like(0),
    "LinearRegressor": targets("targets"),
    "Normalizer": like(0),
    "SVMRegressor": lambda node: [(_rows(node), 1)],
    "Scaler": like(0),
    "TreeEnsembleClassifier": classified,
    "TreeEnsembleRegressor": targets("n_targets"),
}
