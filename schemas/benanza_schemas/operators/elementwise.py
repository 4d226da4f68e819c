"""Operators each element of whose result follows from one element of each input."""

from benanza_schemas.operators.facts import OperatorFacts, Rows

ELEMENTWISE: Rows = {
    "Acos Acosh Asin Asinh Atan Atanh BitwiseNot Cosh Erf IsInf Shrink Sinh Tan": OperatorFacts(
        "element-wise", region="element-wise"
    ),
    "Abs Ceil Cos Exp Floor IsNaN Log Neg Not Reciprocal Round Sign Sin Sqrt": OperatorFacts(
        "element-wise", region="element-wise", evaluated=True
    ),
    "Relu": OperatorFacts("element-wise", region="element-wise", evaluated=True, activation=True),
    "Sigmoid Tanh ThresholdedRelu": OperatorFacts(
        "element-wise", region="element-wise", activation=True
    ),
    "LeakyRelu": OperatorFacts("element-wise", 2, region="element-wise", activation=True),
    "Softsign": OperatorFacts("element-wise", 3, region="element-wise"),
    "Elu Softplus Swish": OperatorFacts("element-wise", 3, region="element-wise", activation=True),
    "Celu": OperatorFacts("element-wise", 4, region="element-wise"),
    "HardSigmoid Selu": OperatorFacts("element-wise", 4, region="element-wise", activation=True),
    "Gelu HardSwish Mish": OperatorFacts("element-wise", 5, region="element-wise", activation=True),
    "PRelu": OperatorFacts(
        "element-wise", 2, others="channels", region="element-wise", activation=True
    ),
    "Clip": OperatorFacts(
        "element-wise",
        deciding=(1, 2),
        others="instructions",
        region="element-wise",
        evaluated=True,
        activation=True,
    ),
    "BitwiseAnd BitwiseOr BitwiseXor": OperatorFacts(
        "element-wise", others="broadcast", region="element-wise"
    ),
    "Add And Div Equal Greater GreaterOrEqual Less LessOrEqual Mod Mul Or Sub Xor": OperatorFacts(
        "element-wise", others="broadcast", region="element-wise", evaluated=True
    ),
    "Pow": OperatorFacts(
        "element-wise", deciding=(1,), others="broadcast", region="element-wise", evaluated=True
    ),
    "Max Min Sum": OperatorFacts(
        "element-wise", None, (), "broadcast", "element-wise", "of one", evaluated=True
    ),
    "Mean": OperatorFacts("element-wise", None, (), "broadcast", "element-wise", "of one"),
    "BitShift": OperatorFacts("element-wise", others="broadcast"),
    "SwiGLU": OperatorFacts("element-wise"),
    "Dropout": OperatorFacts("element-wise", None, (2,), "instructions", "view", "unchanged"),
}

GATES = {("Sigmoid",): "Swish", ("HardSigmoid",): "HardSwish", ("Softplus", "Tanh"): "Mish"}
"""Activations that are a value times a function of it, by the function's operators."""
