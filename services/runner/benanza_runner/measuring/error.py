"""Is a variant's result right? It is compared with a reference of higher precision."""

from math import isfinite

from benanza_schemas.layer import Precision

TOLERANCE: dict[Precision, float] = {"fp32": 1e-4, "tf32": 2e-3, "fp16": 3e-3, "bf16": 2e-2}
"""‖result − reference‖ / ‖reference‖ up to which a result is right.

Rounding alone stays well below these: products of float32 reach 1e-6, of TF32 3e-4, of bfloat16
1e-2. So the tolerance of fp32 rejects a variant that multiplies in TF32.
"""


def wrong(relative_error: float, precision: Precision) -> str:
    """Why a result with this error is wrong, or an empty string if it is right.

    An error that isn't finite is wrong, as is one above the precision's tolerance.
    """
    most = TOLERANCE[precision]
    if isfinite(relative_error) and relative_error <= most:
        return ""
    return f"wrong result: it is off by {relative_error:.2g} of its norm; {most:.2g} is allowed"
