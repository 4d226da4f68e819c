"""The source of the kernel that resizes."""

from benanza_runner.cuda.calls import Resizing

COORDINATES = {
    "half_pixel": "(c + 0.5f) / f{0} - 0.5f",
    "asymmetric": "c / f{0}",
    "align_corners": "o{0} == 1 ? 0.0f : (float)c * (n{0} - 1) / (o{0} - 1)",
    "half_pixel_symmetric": (
        "n{0} / 2.0f * (1.0f - o{0} / (f{0} * n{0})) + (c + 0.5f) / f{0} - 0.5f"
    ),
    "pytorch_half_pixel": "o{0} > 1 ? (c + 0.5f) / f{0} - 0.5f : 0.0f",
}
"""Where in the input the element `c` of the output is."""

ROUNDINGS = {
    "round_prefer_floor": "ceilf(x - 0.5f)",
    "round_prefer_ceil": "floorf(x + 0.5f)",
    "floor": "floorf(x)",
    "ceil": "ceilf(x)",
}


TAPS = {
    "linear": "{1.0f - t, t}",
    "cubic": "{outer(A, 1.0f + t), inner(A, t), inner(A, 1.0f - t), outer(A, 2.0f - t)}",
}
"""The weights of neighbouring elements, at `t` after the last one before the place in question.
`A` is the coefficient of the cubic kernel."""

BEFORE = {"linear": 0, "cubic": 1}
"""How many of these neighbours come before the place in question."""

CUBIC = """
__device__ __forceinline__ float inner(float a, float t) {
  return ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
}
__device__ __forceinline__ float outer(float a, float t) {
  return ((a * t - 5.0f * a) * t + 8.0f * a) * t - 4.0f * a;
}
"""
"""Both parts of the cubic convolution kernel (R. Keys, "Cubic convolution interpolation for digital
image processing", 1981)."""


def parameters(rank: int, element: str = "E") -> str:
    """Those of a kernel that reads `p` and writes `q`: how many elements it writes, and for each
    axis the sizes in the output and in the input, and how far apart neighbours are in the input.
    """
    names = [f"int {letter}{at}" for letter in "ons" for at in range(rank)]
    pointers = f"const {element}* __restrict__ p, {element}* __restrict__ q"
    return f"{pointers}, unsigned total, {', '.join(names)}"


def resizing_source(beginning: str, resized: tuple[bool, ...], how: Resizing, wide: int) -> str:
    """The kernel `resize`, in which each resized axis has one place in the input, or several with a
    weight each.

    `beginning` defines elements, as `launching.preamble` does. `how` has no sizes and no scales. A
    thread works on so many elements, `wide`, which lie next to each other on the last axis.
    """
    rank = len(resized)
    scales = "".join(f", float f{at}" for at in range(rank))
    lines = []
    for at in reversed(range(rank)):
        lines.append(f"c = rest % o{at}; rest /= o{at};")
        if not resized[at]:
            lines.append(f"place += (long long)c * s{at};")
        elif how.mode == "nearest":
            lines.append(f"x = {COORDINATES[how.coordinates].format(at)};")
            chosen = f"min(max((int){ROUNDINGS[how.rounding]}, 0), n{at} - 1)"
            lines.append(f"place += (long long){chosen} * s{at};")
        else:
            lines.append(f"x = {COORDINATES[how.coordinates].format(at)};")
            lines += _weights(how, at)
    taps = [at for at in range(rank) if resized[at] and how.mode != "nearest"]
    if taps:
        lines += [f"float sum[{wide}] = {{}};", *_sum(how, taps, wide)]
        lines += [f"Pack found; {_each(wide)} found.each[at] = write(sum[at]);"]
    else:
        lines += ["const Pack found = p[place];"]
    body = "\n  ".join(lines)
    return f"""{beginning}
#define A {how.steepness}f
{CUBIC}
struct alignas(sizeof(E) * {wide}) Pack {{ E each[{wide}]; }};
extern "C" __global__ void resize({parameters(rank, "Pack")}{scales}) {{
  const unsigned number = blockIdx.x * blockDim.x + threadIdx.x;
  if (number >= total) return;
  int rest = number, c;
  float x = 0.0f, t;
  long long place = 0;
  {body}
  q[number] = found;
}}
"""


def _each(wide: int) -> str:
    return f"for (int at = 0; at < {wide}; at++)"


def _count(how: Resizing) -> int:
    """The number of elements on an axis that one follows from."""
    return 2 * BEFORE[how.mode] + 2


def _weights(how: Resizing, at: int) -> list[str]:
    """Statements for the weights on an axis, and for the place of the first."""
    lines = [f"x = fminf(fmaxf(x, 0.0f), n{at} - 1.0f);"] if how.mode == "linear" else []
    lines.append(f"t = x - floorf(x); const int first{at} = (int)floorf(x) - {BEFORE[how.mode]};")
    lines.append(f"float w{at}[] = {TAPS[how.mode]};")
    if how.only_inside:
        count = _count(how)
        inside = f"first{at} + i >= 0 && first{at} + i < n{at}"
        lines.append(f"for (int i = 0; i < {count}; i++) if (!({inside})) w{at}[i] = 0.0f;")
        total = " + ".join(f"w{at}[{i}]" for i in range(count))
        lines.append(f"t = {total};")
        lines.append(f"for (int i = 0; i < {count}; i++) w{at}[i] /= t;")
    return lines


def _sum(how: Resizing, axes: list[int], wide: int) -> list[str]:
    """Statements that add up the neighbours, each times its weights."""
    loops = [
        f"#pragma unroll\n  for (int i{at} = 0; i{at} < {_count(how)}; i{at}++)" for at in axes
    ]
    weight = " * ".join(f"w{at}[i{at}]" for at in axes)
    where = "".join(
        f" + (long long)min(max(first{at} + i{at}, 0), n{at} - 1) * s{at}" for at in axes
    )
    return [
        *loops,
        "  {",
        f"    const float weight = {weight};",
        f"    const Pack near = p[place{where}];",
        f"    {_each(wide)} sum[at] += weight * read(near.each[at]);",
        "  }",
    ]
