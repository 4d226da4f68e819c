"""What sources of attention share: the mask's type, and the score of what isn't seen."""


def mask_source(mask: str, *, causal: bool) -> str:
    """Definitions for no mask, one of floats (`float`) or one of bools (`bool`): `M` is the type of
    its elements, `Step` that of strides, `NONE` the score of a key that a query doesn't see.
    """
    return f"""
#define MASK {int(bool(mask))}
#define CHOSEN {int(mask == "bool")}
#define CAUSAL {int(causal)}
typedef long long Step;
typedef {"unsigned char" if mask == "bool" else "T"} M;
#define NONE __int_as_float(0xff800000)
"""
