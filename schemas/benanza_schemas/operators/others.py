"""Operators of ONNX that neither work element by element, nor move, nor compute sums of many."""

from benanza_schemas.operators.facts import OperatorFacts, Rows

OTHERS: Rows = {
    "Constant": OperatorFacts("constant", evaluated=True),
    "Shape Size": OperatorFacts("constant"),
    "BlackmanWindow HammingWindow HannWindow": OperatorFacts("generated", deciding=(0,)),
    "MelWeightMatrix": OperatorFacts("generated", deciding=(0, 1, 2, 3, 4)),
    "DequantizeLinear QuantizeLinear": OperatorFacts(
        "quantisation", others="channels", region="element-wise"
    ),
    "DynamicQuantizeLinear": OperatorFacts("quantisation"),
    "AffineGrid MaxRoiPool": OperatorFacts("sampling"),
    "GridSample RoiAlign": OperatorFacts("sampling", None),
    "MaxUnpool": OperatorFacts("sampling", deciding=(2,)),
    "RotaryEmbedding": OperatorFacts("embedding", 3),  # two products and a sum
    "Bernoulli Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike": (
        OperatorFacts("random")
    ),
    "ImageDecoder": OperatorFacts("selection"),
    "NonMaxSuppression": OperatorFacts("selection", deciding=(2, 3, 4)),
    "NegativeLogLikelihoodLoss": OperatorFacts("loss"),
    "SoftmaxCrossEntropyLoss": OperatorFacts("loss", None),
    "If Loop Scan SequenceMap": OperatorFacts("control flow"),
    "ConcatFromSequence SequenceAt SequenceConstruct "
    "SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence": OperatorFacts(
        "sequence"
    ),
    "OptionalGetElement OptionalHasElement": OperatorFacts("optional value"),
    "RegexFullMatch StringConcat StringNormalizer StringSplit TfIdfVectorizer": OperatorFacts(
        "text"
    ),
}

CLASSICAL: Rows = {
    "ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer FeatureVectorizer "
    "Imputer LabelEncoder LinearClassifier LinearRegressor Normalizer OneHotEncoder SVMClassifier "
    "SVMRegressor Scaler TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor ZipMap": (
        OperatorFacts("classical")
    ),
}
"""Those of `ai.onnx.ml`."""
