"""A small model of operators with several results, in orders that differ from the operators'."""

from tests.ingest.onnx_text import content


def choosing_model() -> bytes:
    """Parts of an image put together in another order; the largest numbers with their places, and
    the place of the least: each read by what follows.
    """
    return content(
        """g (float[2,9,6,6] x) => (y) {
            lengths = Constant<value = int64[3] {2, 3, 4}>()
            two, three, four = Split<axis = 1>(x, lengths)
            turned = Concat<axis = 1>(four, two, three)
            rows = Flatten(turned)
            count = Constant<value = int64[1] {5}>()
            values, places = TopK(rows, count)
            gathered = GatherElements<axis = 1>(rows, places)
            twice = Add(values, gathered)
            least = ArgMin<axis = 1>(rows)
            minimum = GatherElements<axis = 1>(rows, least)
            y = Sub(twice, minimum)
        }"""
    )
