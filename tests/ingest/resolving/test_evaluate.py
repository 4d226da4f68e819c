"""Evaluating single nodes: what nodes have in common is used, and what differs is told apart."""

import numpy as np
from onnx import helper

from benanza_ingest.resolving.evaluate import FEW_ELEMENTS, Evaluator

MOST = 1000


def evaluator() -> Evaluator:
    return Evaluator([helper.make_opsetid("", 20)], MOST)


def test_nodes_that_differ_in_names_alone_have_the_same_result() -> None:
    evaluate = evaluator()
    left, right = np.array([3, 4]), np.array([1, 2])
    (first,) = evaluate.run(helper.make_node("Sub", ["a", "b"], ["c"]), [left, right])
    (second,) = evaluate.run(helper.make_node("Sub", ["x", "y"], ["z"]), [left, right])
    assert first is not None
    assert first is second
    assert first.tolist() == [2, 2]


def test_elements_types_shapes_and_attributes_are_told_apart() -> None:
    evaluate = evaluator()
    node = helper.make_node("Identity", ["a"], ["b"])
    for given in (np.array([1]), np.array([2]), np.array([1], np.int32), np.array([[1]])):
        (found,) = evaluate.run(node, [given])
        assert found is not None
        assert (found.dtype, found.tolist()) == (given.dtype, given.tolist())
    table = np.array([[1, 2], [3, 4]])
    for axis, wanted in ((0, [[1, 2]]), (1, [[1], [3]])):
        gather = helper.make_node("Gather", ["a", "b"], ["c"], axis=axis)
        (found,) = evaluate.run(gather, [table, np.array([0])])
        assert found is not None
        assert found.tolist() == wanted


def test_inputs_and_outputs_may_be_left_out() -> None:
    evaluate = evaluator()
    clip = helper.make_node("Clip", ["a", "", "b"], ["c"])
    (found,) = evaluate.run(clip, [np.array([1.0, 5.0]), None, np.array(2.0)])
    assert found is not None
    assert found.tolist() == [1, 2]
    split = helper.make_node("Split", ["a"], ["", "b"], num_outputs=2)
    left_out, second = evaluate.run(split, [np.array([1, 2])])
    assert left_out is None
    assert second is not None
    assert second.tolist() == [2]


def test_many_elements_are_computed_each_time_and_texts_never() -> None:
    evaluate = evaluator()
    node = helper.make_node("Neg", ["a"], ["b"])
    many = np.arange(FEW_ELEMENTS + 1)
    (first,), (second,) = evaluate.run(node, [many]), evaluate.run(node, [many])
    assert first is not second
    words = helper.make_node("Identity", ["a"], ["b"])
    assert evaluate.run(words, [np.array(["some", "other"], object)]) == [None]


def test_a_result_that_would_be_too_large_is_not_computed() -> None:
    expand = helper.make_node("Expand", ["a", "b"], ["c"])
    assert evaluator().run(expand, [np.array([1]), np.array([MOST + 1])]) == [None]
