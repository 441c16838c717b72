"""The layer of examples/llama3-8b-block.mlir in PyTorch.

Indices in the comments are the example's: b batch, s sequence, d hidden,
h groups of heads, r heads of a group, k features of a head, e of the SwiGLU.
"""

import torch
import torch.nn.functional as F

NAMES = ["attention_norm", "wq", "wk", "wv", "wo", "ffn_norm", "w1", "w3", "w2"]
EPS = 1e-5


def shapes(d=4096, h=8, r=4, k=128, e=14336):
    """Returns the shape of each parameter, by its name in the example."""
    return {
        "attention_norm": (d,),
        "wq": (h, r, k, d),
        "wk": (h, k, d),
        "wv": (h, k, d),
        "wo": (d, h, r, k),
        "ffn_norm": (d,),
        "w1": (e, d),
        "w3": (e, d),
        "w2": (d, e),
    }


def rotations(s, k, like, theta=500000.0):
    """Returns cos and sin [s, k] of rotary embeddings in the rotate-half
    form."""
    wide = dict(dtype=torch.float64, device=like.device)
    powers = torch.arange(0, k, 2, **wide) / k
    angles = torch.outer(torch.arange(s, **wide), theta**-powers)
    angles = torch.cat([angles, angles], -1)
    return angles.cos().to(like.dtype), angles.sin().to(like.dtype)


def rotate(x, cos, sin):  # x[b, heads, s, k]
    low, high = x.chunk(2, -1)
    return x * cos + torch.cat([-high, low], -1) * sin


def layer(x, cos, sin, attention_norm, wq, wk, wv, wo, ffn_norm, w1, w3, w2):
    b, s, d = x.shape
    h, r, k, _ = wq.shape

    def heads(weight):  # [b, heads, s, k]
        y = F.linear(xn, weight.reshape(-1, d))
        return y.view(b, s, -1, k).transpose(1, 2)

    xn = F.rms_norm(x, (d,), attention_norm, EPS)
    q = rotate(heads(wq), cos, sin)
    key = rotate(heads(wk), cos, sin)
    o = F.scaled_dot_product_attention(
        q, key, heads(wv), is_causal=True, enable_gqa=True
    )
    o = o.transpose(1, 2).reshape(b, s, h * r * k)
    x = x + F.linear(o, wo.reshape(d, -1))
    xn = F.rms_norm(x, (d,), ffn_norm, EPS)
    m = F.silu(F.linear(xn, w1)) * F.linear(xn, w3)
    return x + F.linear(m, w2)


def step(function, x, cos, sin, parameters, gz):
    """Returns z and the gradients of x and of the parameters, in order."""
    leaves = [x, *parameters]
    z = function(x, cos, sin, *parameters)
    return [z, *torch.autograd.grad(z, leaves, gz)]
