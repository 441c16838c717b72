"""Says how DTensor may divide torch's attention on CPUs: along the batch, or along the heads."""

import torch
from torch.distributed.tensor import Replicate, Shard
from torch.distributed.tensor.experimental import register_sharding

_DIMENSIONS = (Replicate(), Shard(0), Shard(1))


def _rows(outputs, inputs, others):
    return [([place] * outputs, [place] * inputs + [None] * others) for place in _DIMENSIONS]


@register_sharding(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default)
def _forward(query, key, value, *others, **named):
    return _rows(2, 3, len(others))


@register_sharding(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
def _backward(gradient, query, key, value, out, statistic, *others, **named):
    return _rows(3, 6, len(others))
