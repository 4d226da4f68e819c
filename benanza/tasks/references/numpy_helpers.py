"""Functions whose source goes into references in NumPy that need them; each stands alone."""

# What is written here runs in files without types and without this package.
# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import math

import numpy as np


def windows_of(x, kernel, strides, dilations, pads, value):
    """The windows of x [N, C, ...] as [N, C, places..., kernel...], x being padded with a value."""
    axes = tuple(range(2, x.ndim))
    x = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=value)
    spans = [(size - 1) * step + 1 for size, step in zip(kernel, dilations, strict=True)]
    found = np.lib.stride_tricks.sliding_window_view(x, spans, axes)
    places = [slice(None, None, step) for step in strides]
    inside = [slice(None, None, step) for step in dilations]
    return found[(slice(None), slice(None), *places, *inside)]


def convolution(x, w, strides, dilations, pads, groups):
    """x [N, C, ...] with filters w [M, C / groups, ...]."""
    seen = windows_of(x, w.shape[2:], strides, dilations, pads, 0)
    axes = w.ndim - 2
    n, c, *places = seen.shape[: 2 + axes]
    seen = seen.reshape(n, groups, c // groups, *places, *w.shape[2:])
    order = (1, 0, *range(3, 3 + axes), 2, *range(3 + axes, 3 + 2 * axes))
    rows = seen.transpose(order).reshape(groups, n * math.prod(places), -1)
    filters = w.reshape(groups, len(w) // groups, -1)
    sums = rows @ filters.transpose(0, 2, 1)
    maps = sums.reshape(groups, n, *places, -1)
    maps = maps.transpose(1, 0, 2 + axes, *range(2, 2 + axes))
    return maps.reshape(n, len(w), *places)


def greatest_pool(x, kernel, strides, dilations, pads):
    """The greatest of each window."""
    axes = tuple(range(-len(kernel), 0))
    return windows_of(x, kernel, strides, dilations, pads, -np.inf).max(axes)


def average_pool(x, kernel, strides, dilations, pads, counted):
    """The mean of each window over what lies within x and the `counted` pads."""
    axes = tuple(range(-len(kernel), 0))
    inside = np.pad(np.ones_like(x), [(0, 0), (0, 0), *counted], constant_values=1)
    others = [(a - b, c - d) for (a, c), (b, d) in zip(pads, counted, strict=True)]
    sums = windows_of(x, kernel, strides, dilations, pads, 0).sum(axes)
    return sums / windows_of(inside, kernel, strides, dilations, others, 0).sum(axes)


def response_normalised(x, size, alpha, beta, bias):
    """x over a power of the sum of squares of so many neighbouring channels."""
    before = (size - 1) // 2
    pads = [(0, 0), (before, size - 1 - before), *[(0, 0)] * (x.ndim - 2)]
    squares = np.pad(x * x, pads)
    sums = sum(squares[:, shift : shift + x.shape[1]] for shift in range(size))
    return x / (bias + alpha / size * sums) ** beta


def error_function(x):
    """erf of each element."""
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def soft_maximum(x, axis):
    """Softmax along an axis."""
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def attention(q, k, v, mask, scale, causal):
    """Attention of [batch, heads, length, width], where fewer heads of keys are shared by more."""
    k, v = (np.repeat(each, q.shape[1] // each.shape[1], 1) for each in (k, v))
    scores = scale * (q @ k.transpose(0, 1, 3, 2))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    return soft_maximum(scores, -1) @ v


def normalised(x, axes, epsilon):
    """x with mean 0 and variance 1 along these axes."""
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axes, keepdims=True) + epsilon)
