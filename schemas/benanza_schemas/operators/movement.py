"""Operators that only move bytes, and those that need not even move them."""

from benanza_schemas.operators.facts import OperatorFacts, Rows

MOVEMENT: Rows = {
    "Compress EyeLike NonZero ReverseSequence Scatter TensorScatter Unique": OperatorFacts(
        "movement", 0
    ),
    "GatherND ScatterElements ScatterND": OperatorFacts("movement", 0, evaluated=True),
    "ConstantOfShape": OperatorFacts("movement", 0, (0,), evaluated=True),
    "Range": OperatorFacts("movement", 0, (0, 1, 2), evaluated=True),
    "CenterCropPad OneHot": OperatorFacts("movement", 0, (1,), "instructions"),
    "Col2Im": OperatorFacts("movement", 0, (1, 2), "instructions"),
    "Cast": OperatorFacts("movement", 0, region="element-wise", view="unchanged", evaluated=True),
    "CastLike": OperatorFacts(
        "movement", 0, (), "instructions", "element-wise", "unchanged", evaluated=True
    ),
    "Where": OperatorFacts("movement", 0, (), "broadcast", "element-wise", evaluated=True),
    "Concat": OperatorFacts("movement", 0, (), "fit", "movement", "of one", evaluated=True),
    "DepthToSpace SpaceToDepth": OperatorFacts("movement", 0, region="movement"),
    "Expand Tile": OperatorFacts(
        "movement", 0, (1,), "instructions", "movement", "unchanged", evaluated=True
    ),
    "Gather": OperatorFacts("movement", 0, (), "fit", "movement", "unchanged", evaluated=True),
    "GatherElements": OperatorFacts("movement", 0, region="movement", evaluated=True),
    "Pad": OperatorFacts("movement", 0, (1, 2, 3), "instructions", "movement", "unchanged"),
    "Slice": OperatorFacts(
        "movement", 0, (1, 2, 3, 4), "instructions", "movement", "unchanged", evaluated=True
    ),
    "Split": OperatorFacts(
        "movement", 0, (1,), "instructions", "movement", "of one", evaluated=True
    ),
    "Transpose": OperatorFacts("movement", 0, region="movement", view="unchanged", evaluated=True),
    "Trilu": OperatorFacts("movement", 0, (1,), "instructions", "movement", evaluated=True),
    "Resize": OperatorFacts("movement", 0, (1, 2, 3), "instructions", "window", "unchanged"),
    "Upsample": OperatorFacts("movement", 0, (1,), "instructions", "window", "unchanged"),
}

VIEWS: Rows = {
    "Reshape Squeeze Unsqueeze": OperatorFacts(
        "view", 0, (1,), "instructions", "view", "always", evaluated=True
    ),
    "Flatten Identity": OperatorFacts("view", 0, (), "", "view", "always", evaluated=True),
    "BitCast Optional": OperatorFacts("view", 0, view="always"),
}

REPEATING = frozenset((("asymmetric", "floor"), ("half_pixel", "round_prefer_floor")))
"""Coordinates and roundings by which a Resize repeats each element, if its factors are whole."""
