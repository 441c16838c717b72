"""Three of the examples, written again in JAX, by hand and unsharded.

A model is a function of a dictionary of arrays, by the names that tpsp gives
its arguments. Shapes are the examples'; indices in the comments are theirs.
"""

import jax
import jax.numpy as jnp


def layer_norm(x, gain, bias, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + eps) * gain + bias


def rms_norm(x, gain, eps=1e-5):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + eps) * gain


def gelu(x):
    return jax.nn.gelu(x, approximate=True)


def mlp(p):
    y = jnp.einsum("ed,bsd->bse", p["w0"], p["x"])
    return jnp.einsum("de,bse->bsd", p["w1"], gelu(y))


def gpt_block(p):
    x = p["x"]
    n = layer_norm(x, p["ln1.gain"], p["ln1.bias"])
    q, k, v = (
        jnp.einsum("hkd,bsd->bshk", p["w" + name], n) + p["b" + name] for name in "qkv"
    )
    scores = jnp.einsum("bshk,bthk->bhst", q, k) * 0.17677669529663687
    s = jnp.arange(x.shape[1])
    scores = jnp.where(s[None, :] <= s[:, None], scores, -jnp.inf)
    o = jnp.einsum("bhst,bthk->bshk", jax.nn.softmax(scores, -1), v)
    h = x + jnp.einsum("dhk,bshk->bsd", p["wo"], o) + p["bo"]
    n = layer_norm(h, p["ln2.gain"], p["ln2.bias"])
    m = gelu(jnp.einsum("ed,bsd->bse", p["w1"], n) + p["b1"])
    return h + jnp.einsum("de,bse->bsd", p["w2"], m) + p["b2"]


def vocab_parallel(p):
    x = p["table"][p["ids"]]
    for layer in "01":
        n = rms_norm(x, p["gain" + layer])
        u = gelu(jnp.einsum("ed,bsd->bse", p["up" + layer], n))
        x = x + jnp.einsum("de,bse->bsd", p["down" + layer], u)
    logits = jnp.einsum("vd,bsd->bsv", p["table"], rms_norm(x, p["gain2"]))
    chosen = jnp.take_along_axis(logits, p["targets"][..., None], -1)[..., 0]
    return (jax.nn.logsumexp(logits, -1) - chosen).mean()


# Example, model, and the name of its result.
EXAMPLES = [
    ("mlp-sp.mlir", mlp, "z"),
    ("gpt-block-sp.mlir", gpt_block, "z"),
    ("vocab-parallel.mlir", vocab_parallel, "loss"),
]
