"""Products whose operands are moved before, or whose results are moved after, as one call."""

from tests.runner.cuda.layers.regions import W, numbers, region

_X = "float[2,5,24] x"
_SPLIT = f"{numbers(lo=8, hi=16, one=1, last=2)}"
_HEADS = (
    "h = Constant<value_ints=[2,5,3,8]>() r = Reshape(x, h) t = Transpose<perm=[0,2,1,3]>(r)"
    " i = Constant<value_ints=[2,7,3,8]>() s = Reshape(y, i) "
)

IN_PLACE = {
    "product of a transpose": region(
        _X,
        "n",
        "t = Transpose<perm=[0,2,1]>(x) m = MatMul(t, f) n = Add(m, g)",
        f", float[5,7] f = {W}, float[7] g = {W}",
    ),
    "product with a transpose": region(
        f"{_X}, float[2,7,24] y", "n", "t = Transpose<perm=[0,2,1]>(y) n = MatMul(x, t)"
    ),
    "product of a transpose with a residual": region(
        f"{_X}, float[2,24,5] y",
        "n",
        "t = Transpose<perm=[0,2,1]>(x) m = MatMul(t, f) n = Add(y, m)",
        f", float[5,5] f = {W}",
    ),
    "product of heads where they are": region(
        f"{_X}, float[2,7,24] y", "n", _HEADS + "u = Transpose<perm=[0,2,3,1]>(s) n = MatMul(t, u)"
    ),
    "product to where heads were": region(
        "float[2,3,5,7] x, float[2,7,24] y",
        "n",
        "i = Constant<value_ints=[2,7,3,8]>() s = Reshape(y, i) u = Transpose<perm=[0,2,1,3]>(s)"
        " m = MatMul(x, u) a = Transpose<perm=[0,2,1,3]>(m) o = Constant<value_ints=[2,5,24]>()"
        " n = Reshape(a, o)",
    ),
    "product of a part": region(
        _X,
        "n",
        f"{_SPLIT} s = Slice(x, lo, hi, last) n = MatMul(s, f)",
        f", float[8,9] f = {W}",
    ),
    "product of one row": region(
        _X,
        "n",
        f"{numbers(four=4, five=5, one=1)} s = Slice(x, four, five, one) q = Squeeze(s, one)"
        " n = Gemm(q, f, g)",
        f", float[24,9] f = {W}, float[9] g = {W}",
    ),
    "product that is written by column": region(
        _X, "n", "m = MatMul(x, f) n = Transpose<perm=[0,2,1]>(m)", f", float[24,9] f = {W}"
    ),
    "product of more transposes than rows": region(
        "float[8,24,5] x",
        "n",
        "t = Transpose<perm=[0,2,1]>(x) n = MatMul(t, f)",
        f", float[24,9] f = {W}",
    ),
    "product with a column, a bias and a residual": region(
        f"{_X}, float[2,5,1] y",
        "n",
        "m = MatMul(x, f) a = Add(m, g) r = Add(a, y) n = Relu(r)",
        f", float[24,1] f = {W}, float[1] g = {W}",
    ),
    "product of one matrix with columns and a residual": region(
        "float[5,5] x, float[2,5,1] y, float[2,5,1] z", "n", "m = MatMul(x, y) n = Add(m, z)"
    ),
    "product of repeated matrices": region(
        "float[2,4,5,8] x, float[2,1,8,6] y",
        "n",
        "e = Constant<value_ints=[2,4,8,6]>() z = Expand(y, e) n = MatMul(x, z)",
    ),
    "product of heads by position": region(
        "float[2,3,5,7] x",
        "n",
        "t = Transpose<perm=[0,2,3,1]>(x) m = MatMul(t, f) n = Add(m, g)",
        f", float[3,3] f = {W}, float[3] g = {W}",
    ),
    "einsum of a transpose": region(
        "float[2,5,3,8] x, float[2,3,7,8] y",
        "n",
        't = Transpose<perm=[0,2,1,3]>(x) n = Einsum<equation="bhid,bhjd->bhij">(t, y)',
    ),
}
