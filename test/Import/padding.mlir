// A GPT-2 of 3 heads and 257 words, on 4 ranks: heads, hidden index and
// vocabulary are padded. Checkpoints have the model's shapes on any mesh.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && split-file %s %t
// RUN: tpsp-import %t/gpt2 --sequence 6 --place tp --mesh tp=1 -o %t/m.mlir
// RUN: tpsp-run %t/m.mlir --quiet --seed 3 --save %t/gpt2
// RUN: tpsp-run %t/m.mlir --quiet --seed 4 --mesh tp=4 --pad g=4,e=4,v=4 --weights %t/gpt2 --grad --verify --save %t/again.st
// RUN: cmp %t/gpt2/model.safetensors %t/again.st
// RUN: head -c 600 %t/again.st | FileCheck %s --check-prefix=CUTS
// CUTS: "transformer.h.0.attn.c_attn.bias":{"dtype":"F32","shape":[36]
// CUTS-SAME: "transformer.h.0.attn.c_attn.weight":{"dtype":"F32","shape":[12,36]

// RUN: not tpsp-run %t/m.mlir --quiet --mesh tp=4 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: do not divide; nearest extents that work: {{.*}}; or pad it: --pad {{[a-z]+}}=4
// RUN: not tpsp-import %t/gpt2 --sequence 6 --place tp --mesh tp=4 2>&1 | FileCheck %s --check-prefix=HEADS
// HEADS: --mesh tp=4 cannot divide 3 key/value heads of 1 query head each; 3 works; or import for tp=1, and run with --mesh tp=4 --pad g=4

// Three query heads of one key/value head, which is padded.
// RUN: tpsp-import %t/llama.json --sequence 6 --place tp-sp --mesh tp=1 -o %t/llama.mlir
// RUN: tpsp-run %t/llama.mlir --quiet --mesh tp=2 --pad g=2,e=2,v=2 --grad --verify

// Training has the losses of a run without padding, also of a batch that is
// padded, and goes on from a checkpoint on another mesh, padded otherwise.
// DEFINE: %{train} = tpsp-train %t/m.mlir --data %s --batch 3 --lr 1e-2
// RUN: %{train} --steps 6 --out %t/whole
// RUN: %{train} --steps 6 --out %t/padded --mesh tp=4 --pad g=4,e=4,v=4,b=2 --save-every 3
// RUN: rm -rf %t/padded/step-00000006
// RUN: %{train} --steps 6 --out %t/padded --resume %t/padded --mesh tp=2 --pad g=2,e=4,v=6
// RUN: %python %t/compare.py %t/whole/metrics.jsonl %t/padded/metrics.jsonl
// RUN: head -c 4000 %t/padded/step-00000006/state.safetensors | FileCheck %s --check-prefix=STATE
// STATE: "mean[transformer.wte.weight]":{"dtype":"F32","shape":[257,12]

//--- gpt2/config.json
{"model_type": "gpt2", "n_embd": 12, "n_head": 3, "n_layer": 2, "n_inner": 10,
 "n_positions": 6, "vocab_size": 257}
//--- llama.json
{"model_type": "llama", "hidden_size": 15, "intermediate_size": 9, "num_hidden_layers": 1, "num_attention_heads": 3,
 "num_key_value_heads": 1, "head_dim": 4, "vocab_size": 13}
//--- compare.py
import json, sys

def losses(path):
    return {each["step"]: each["loss"] for each in map(json.loads, open(path))}

one, other = map(losses, sys.argv[1:])
assert len(one) == 6 and one.keys() == other.keys(), (one, other)
for step in one:
    assert abs(one[step] - other[step]) < 1e-5 * one[step], (step, one, other)
