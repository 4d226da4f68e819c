"""Finds attention by what it computes, and puts it into one form: ONNX's `Attention` operator.

`scores` follows a softmax back to the product of queries and keys and on to that with values,
`movement` the operands back to where they lie in memory, and `normal_form` writes the operators.
"""
