"""Functions whose source goes into references in PyTorch that need them; each stands alone."""

# What is written here runs in files without types and without this package.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import torch


def padded(x, pads, value):
    """x with pads before and after its last axes, in order."""
    flat = [pad for pair in reversed(pads) for pad in pair]
    return torch.nn.functional.pad(x, flat, value=value)


def convolution(x, w, strides, dilations, pads, groups):
    """x [N, C, ...] with filters w [M, C / groups, ...]."""
    f = torch.nn.functional
    convolve = {1: f.conv1d, 2: f.conv2d, 3: f.conv3d}[w.ndim - 2]
    return convolve(padded(x, pads, 0.0), w, None, strides, 0, dilations, groups)


def greatest_pool(x, kernel, strides, dilations, pads):
    """The greatest of each window."""
    f = torch.nn.functional
    pool = {1: f.max_pool1d, 2: f.max_pool2d, 3: f.max_pool3d}[len(kernel)]
    return pool(padded(x, pads, float("-inf")), kernel, strides, 0, dilations)


def average_pool(x, kernel, strides, dilations, pads, counted):
    """The mean of each window over what lies within x and the `counted` pads."""
    filters = torch.ones((x.shape[1], 1, *kernel), dtype=x.dtype, device=x.device)
    inside = padded(torch.ones_like(x), counted, 1.0)
    others = [(a - b, c - d) for (a, c), (b, d) in zip(pads, counted, strict=True)]
    sums = convolution(x, filters, strides, dilations, pads, x.shape[1])
    return sums / convolution(inside, filters, strides, dilations, others, x.shape[1])


def attention(q, k, v, mask, scale, causal):
    """Attention of [batch, heads, length, width], where fewer heads of keys are shared by more."""
    k, v = (each.repeat_interleave(q.shape[1] // each.shape[1], 1) for each in (k, v))
    scores = scale * (q @ k.transpose(2, 3))
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~seen, float("-inf"))
    if mask is not None and mask.dtype == torch.bool:
        scores = scores.masked_fill(~mask, float("-inf"))
    elif mask is not None:
        scores = scores + mask
    return torch.softmax(scores, -1) @ v


def normalised(x, axes, epsilon):
    """x with mean 0 and variance 1 along these axes."""
    centred = x - x.mean(axes, keepdim=True)
    return centred / torch.sqrt((centred * centred).mean(axes, keepdim=True) + epsilon)
