"""The time in which PyTorch's host issues an eager Llama layer, forward and
backward. Profiles of systems that run PyTorch have it (profiles/*.json).

    python3 benchmarks/pytorch/host.py

Tensors have so few elements that the host's work is nearly all of the time. It
needs no GPU, so the launches of the kernels are not in it. Prints microseconds
of a layer's passes, and the number of kernels that a GPU would run: operations
of PyTorch that are no views and allocate nothing only. The times are the least
of 200 rounds, of 8 layers.
"""

import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.profiler import ProfilerActivity, profile

WIDTH, HEADS, FEATURES, FFN, TOKENS, LAYERS, ROUNDS = 64, 4, 16, 96, 2, 8, 200
# What runs a kernel, of the operations of such a layer.
KERNELS = {"mm", "mul", "copy_", "add", "add_", "fill_", "sum", "pow", "neg", "cat", "mean", "div", "div_", "rsqrt", "silu",
           "silu_backward", "_scaled_dot_product_flash_attention_for_cpu",
           "_scaled_dot_product_flash_attention_for_cpu_backward"}


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * y.to(x.dtype)


def turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.norm_1 = Norm(), Norm()
        self.q, self.k, self.v, self.o = [nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4)]
        self.gate, self.up = [nn.Linear(WIDTH, FFN, bias=False) for _ in range(2)]
        self.down = nn.Linear(FFN, WIDTH, bias=False)

    def forward(self, x, cos, sin):
        h = self.norm(x)
        b, s, _ = h.shape
        q, k, v = [part(h).view(b, s, HEADS, FEATURES).transpose(1, 2) for part in (self.q, self.k, self.v)]
        q, k = [part * cos + turned(part) * sin for part in (q, k)]
        o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(o.transpose(1, 2).reshape(b, s, WIDTH))
        h = self.norm_1(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def passes(layers, inputs):
    """Returns the seconds of the forward and of the backward passes."""
    begin = time.perf_counter()
    y, *turns = inputs
    for layer in layers:
        y = layer(y, *turns)
    loss = y.float().sum()
    middle = time.perf_counter()
    loss.backward()
    end = time.perf_counter()
    for parameter in layers.parameters():
        parameter.grad = None
    return middle - begin, end - middle


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = nn.ModuleList(Layer() for _ in range(LAYERS)).bfloat16()
    turns = [torch.randn(1, 1, TOKENS, FEATURES).bfloat16() for _ in range(2)]
    inputs = [torch.randn(1, TOKENS, WIDTH).bfloat16(), *turns]
    times = [passes(layers, inputs) for _ in range(ROUNDS)]
    forward, backward = [1e6 * min(each) / LAYERS for each in zip(*times)]
    with profile(activities=[ProfilerActivity.CPU]) as found:
        passes(layers, inputs)
    kernels = sum(event.count for event in found.key_averages() if event.key.removeprefix("aten::") in KERNELS)
    print(f"a layer: {forward:.0f} us forward, {backward:.0f} us backward, {kernels / LAYERS:.0f} kernels")


if __name__ == "__main__":
    main()
