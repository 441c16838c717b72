// The maps of profiles/names: Megatron's fused and padded tensors, torchtitan's
// rotated queries on uneven and empty shards. A map that forgets a layout is
// found.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: cd %t && tpsp-run model.mlir --mesh tp=2 --grad --quiet --seed 3 --save-all right.safetensors
// RUN: cd %t && sed 's/b = 2/b = 3/; s/@tp//g; s/tp = 2 : model/fsdp = 3 : data/; s/%%x: .b, s/%%x: [b@fsdp, s/; s/-> .b, s, d. {/-> [b@fsdp, s, d] {/; s/i32.b, s/i32[b@fsdp, s/g' model.mlir > sharded.mlir
// RUN: cd %t && tpsp-run sharded.mlir --grad --quiet --seed 3 --save-all sharded.safetensors
// RUN: cd %t && env PYTHONPATH=%S/../Inputs python3 dumps.py

// RUN: cd %t && tpsp-check model.mlir --mesh tp=2 --numbers megatron --seed 3 --names %examples/../profiles/names/megatron.json | FileCheck %s --check-prefix=MEGATRON
// MEGATRON: {{^}}right: 21 tensors{{$}}
// RUN: cd %t && not tpsp-check model.mlir --mesh tp=2 --numbers megatron --seed 3 --names contiguous.json | FileCheck %s --check-prefix=CONTIGUOUS
// CONTIGUOUS: {{^}}wrong:
// CONTIGUOUS: grad:layers.#.wv

// RUN: cd %t && tpsp-check sharded.mlir --numbers titan --seed 3 --names %examples/../profiles/names/torchtitan.json | FileCheck %s --check-prefix=TITAN
// TITAN: {{^}}right: 21 tensors{{$}}
// RUN: cd %t && not tpsp-check sharded.mlir --numbers titan --seed 3 --names unrotated.json | FileCheck %s --check-prefix=UNROTATED
// UNROTATED: {{^}}1. grad:layers.#.wq (2 tensors): k in another order: its 2 pieces of 2 are interleaved

// RUN: cd %t && not tpsp-check model.mlir --mesh tp=2 --numbers megatron --seed 3 --names index.json 2>&1 | FileCheck %s --check-prefix=INDEX
// INDEX: tpsp-check: 'grad:decoder.final_layernorm.weight' of 'megatron' has an entry in which 'q / 2' has the index q, and the program has
// RUN: cd %t && not tpsp-check model.mlir --mesh tp=2 --numbers megatron --seed 3 --names remainder.json 2>&1 | FileCheck %s --check-prefix=REMAINDER
// REMAINDER: 'd / 3' divides 8 by 3, which has a remainder
// RUN: cd %t && not tpsp-check model.mlir --mesh tp=2 --numbers megatron --seed 3 --names whole.json 2>&1 | FileCheck %s --check-prefix=WHOLE
// WHOLE: 'grad:decoder.final_layernorm.weight' of 'megatron' has no placement in the dump, and has to be put together from the ranks' parts

// RUN: cd %t && not tpsp-check --against titan --numbers titan --names %examples/../profiles/names/torchtitan.json 2>&1 | FileCheck %s --check-prefix=AGAINST
// AGAINST: tpsp-check: --names refers to a program's extents or mesh; --against has no program

//--- index.json
{"decoder.final_layernorm.weight": {"name": "norm", "shape": ["q / 2", -1]}}

//--- remainder.json
{"decoder.final_layernorm.weight": {"name": "norm", "shape": ["d / 3", -1]}}

//--- whole.json
{"decoder.final_layernorm.weight": {"name": "norm", "whole": true}}

//--- unrotated.json
{"layers.*.attention.wq.weight": {"name": "layers.*.wq", "whole": true, "shape": ["h", "r", "k", "d"]},
 "layers.*.attention.wk.weight": null, "layers.*.attention.wv.weight": null, "layers.*.attention.wo.weight": null,
 "*.weight": null, "layers.*.attention_norm.weight": null, "layers.*.ffn_norm.weight": null,
 "layers.*.feed_forward.w1.weight": null, "layers.*.feed_forward.w2.weight": null, "layers.*.feed_forward.w3.weight": null}

//--- contiguous.json
{"decoder.layers.*.self_attention.linear_qkv.weight": {
   "shape": [-1, "k", "d"],
   "split": {"dim": 0, "sizes": ["r", 1, 1], "names": ["layers.*.wq", "layers.*.wk", "layers.*.wv"]}},
 "decoder.layers.*.input_layernorm.weight": null, "decoder.layers.*.pre_mlp_layernorm.weight": null,
 "decoder.layers.*.self_attention.linear_proj.weight": null, "decoder.layers.*.mlp.linear_fc1.weight": null,
 "decoder.layers.*.mlp.linear_fc2.weight": null, "decoder.final_layernorm.weight": null,
 "embedding.word_embeddings.weight": null, "output_layer.weight": null}

//--- model.mlir
tpsp.program <b = 2, s = 6, t = s, d = 8, h = 4, r = 2, k = 4, e = 4, v = 10> {
mesh @mesh <tp = 2 : model>
func private @layer(%x: [b, s@tp, d], param %attention_gain "attention_norm": [d], param %wq: [h@tp, r, k, d],
    param %wk, %wv: [h@tp, k, d], param %wo: [d, h@tp, r, k], param %ffn_gain "ffn_norm": [d],
    param %w1, %w3: [e@tp, d], param %w2: [d, e@tp]) -> [b, s@tp, d] {
  %xn = rms_norm %x, %attention_gain
  %q0 = einsum %wq, %xn -> [b, s, h, r, k, ?]
  %k0 = einsum %wk, %xn -> [b, s, h, k, ?]
  %v0 = einsum %wv, %xn -> [b, s, h, k, ?]
  %k  = rename %k0 -> [b, t, h, k, ?]
  %v  = rename %v0 -> [b, t, h, k, ?]
  %o  = attention %q0, %k, %v {query = "s", key = "t", feature = "k", scale = 0.5, causal}
  %a  = einsum %wo, %o -> [b, s, d, ?]
  %h  = add %x, %a
  %hn = rms_norm %h, %ffn_gain
  %g  = einsum %w1, %hn -> [b, s, e, ?]
  %gs = silu %g
  %u  = einsum %w3, %hn -> [b, s, e, ?]
  %m  = mul %gs, %u
  %f  = einsum %w2, %m -> [b, s, d, ?]
  %z  = add %h, %f
  return %z
}
func @model(%tokens: i32[b, s] {tpsp.below = 10}, %targets: i32[b, s] {tpsp.below = 10},
    param %table: [v@tp, d], param %gain "norm": [d], param %head: [v@tp, d]) -> [] {
  %x0 = embedding %tokens, %table {vocabulary = "v"}
  %x  = repeat 2 @layer(%x0) as "layers.#.*"
  %xn = rms_norm %x, %gain
  %logits = einsum %head, %xn -> [b, s, v, ?]
  %token  = cross_entropy %logits, %targets {over = "v"}
  %loss   = mean %token -> []
  return %loss
}
}

//--- dumps.py
from write_dump import cut, read, write

right = read("right.safetensors")
D, K, R = 8, 4, 2


def gradient(name):
    return right[f"g[{name}]"]


def rows(values, columns):
    return [values[i:i + columns] for i in range(0, len(values), columns)]


def flat(parts):
    return [each for part in parts for each in part]


def fused(tp, rank, layer):
    """For each group its queries, its key and its value."""
    own = {}
    for name in ("wq", "wk", "wv"):
        shape, values = cut(gradient(f"layers.{layer}.{name}"), 0, tp, rank)
        groups = shape[0]
        own[name] = rows(list(values), len(values) // groups)
    parts = [own[name][g] for g in range(groups) for name in ("wq", "wk", "wv")]
    return [groups * (R + 2) * K, D], flat(parts)


def megatron(tp, rank):
    out = {}
    for name, key in (("table", "embedding.word_embeddings"), ("head", "output_layer")):
        shape, values = gradient(name)
        padded = list(values) + [0.0] * ((16 - shape[0]) * D)
        out[f"grad:{key}.weight"] = cut(([16, D], padded), 0, tp, rank)
    out["grad:decoder.final_layernorm.weight"] = gradient("norm")
    for layer in range(2):
        own, new = f"layers.{layer}.", f"grad:decoder.layers.{layer}."
        out[new + "input_layernorm.weight"] = gradient(own + "attention_norm")
        out[new + "self_attention.linear_qkv.weight"] = fused(tp, rank, layer)
        shape, values = cut(gradient(own + "wo"), 1, tp, rank)
        out[new + "self_attention.linear_proj.weight"] = [D, len(values) // D], values
        out[new + "pre_mlp_layernorm.weight"] = gradient(own + "ffn_norm")
        (extent, _), gate = cut(gradient(own + "w1"), 0, tp, rank)
        _, up = cut(gradient(own + "w3"), 0, tp, rank)
        out[new + "mlp.linear_fc1.weight"] = [2 * extent, D], list(gate) + list(up)
        out[new + "mlp.linear_fc2.weight"] = cut(gradient(own + "w2"), 1, tp, rank)
    return out


def piece(tensor, rank, ranks=3):
    """A rank's part of dimension 0, as torch divides it."""
    shape, values = tensor
    extent = -(-shape[0] // ranks)
    begin = min(shape[0], rank * extent)
    end = min(shape[0], begin + extent)
    inner = len(values) // shape[0]
    return [end - begin] + shape[1:], list(values)[begin * inner:end * inner]


def matrix(tensor, columns=D):
    shape, values = tensor
    return [len(values) // columns, columns], list(values)


def rotated(tensor):
    """The two halves of each head become pairs of neighbours."""
    out = []
    _, values = matrix(tensor)
    lines = rows(values, D)
    for head in range(0, len(lines), K):
        for i in range(K // 2):
            out += lines[head + i] + lines[head + K // 2 + i]
    return [len(lines), D], out


def titan(rank):
    out = {"tok_embeddings.weight": gradient("table"), "output.weight": gradient("head"), "norm.weight": gradient("norm")}
    for layer in range(2):
        own = f"layers.{layer}."
        for name in ("wq", "wk"):
            out[f"{own}attention.{name}.weight"] = rotated(gradient(own + name))
        out[own + "attention.wv.weight"] = matrix(gradient(own + "wv"))
        out[own + "attention.wo.weight"] = matrix(gradient(own + "wo"), 4 * R * K)
        for name in ("w1", "w2", "w3"):
            out[f"{own}feed_forward.{name}.weight"] = gradient(own + name)
        for name in ("attention_norm", "ffn_norm"):
            out[f"{own}{name}.weight"] = gradient(own + name)
    return {"grad:" + name: piece(tensor, rank) for name, tensor in out.items()}


for rank in range(2):
    write("megatron", rank, megatron(2, rank), {"tpsp.mesh": "tp=2", "tpsp.rank": str(rank)})
right = read("sharded.safetensors")
for rank in range(3):
    own = titan(rank)
    words = {"placement:" + name: "fsdp=Shard(0)" for name in own}
    write("titan", rank, own, {"tpsp.mesh": "fsdp=3", "tpsp.rank": str(rank), **words})
