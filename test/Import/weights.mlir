// Folders of weights, parameters that are parts or stacks of tensors, and what
// is wrong with them.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && split-file %s %t

// Columns of one tensor: whatever the mesh, one file.
// RUN: tpsp-import %t/gpt2 --sequence 6 -o %t/gpt2.mlir
// RUN: tpsp-import %t/gpt2 --sequence 6 --place tp --mesh tp=2 -o %t/gpt2-tp.mlir
// RUN: tpsp-run %t/gpt2.mlir --quiet --seed 3 --save %t/gpt2
// RUN: tpsp-run %t/gpt2-tp.mlir --quiet --seed 4 --weights %t/gpt2 --grad --verify --save %t/again.st
// RUN: cmp %t/gpt2/model.safetensors %t/again.st
// RUN: head -c 600 %t/again.st | FileCheck %s --check-prefix=CUTS
// CUTS: {"__metadata__":{"format":"pt"}
// CUTS-SAME: "transformer.h.0.attn.c_attn.bias":{"dtype":"F32","shape":[36]
// CUTS-SAME: "transformer.h.0.attn.c_attn.weight":{"dtype":"F32","shape":[12,36]

// A tensor for each expert.
// RUN: tpsp-import %t/mixtral --sequence 6 --batch 2 -o %t/mixtral.mlir
// RUN: tpsp-import %t/mixtral --sequence 6 --batch 2 --place ep-tp --dtype bf16 -o %t/mixtral-ep.mlir
// RUN: tpsp-run %t/mixtral.mlir --quiet --seed 3 --dtype bf16 --save %t/mixtral
// RUN: tpsp-run %t/mixtral-ep.mlir --quiet --seed 4 --weights %t/mixtral --grad --verify --save %t/again.st
// RUN: cmp %t/mixtral/model.safetensors %t/again.st
// RUN: head -c 3000 %t/again.st | FileCheck %s --check-prefix=EXPERTS
// EXPERTS: "model.layers.0.block_sparse_moe.experts.3.w2.weight":{"dtype":"BF16","shape":[12,10]

// Shards with an index; a base model's names lack the first word.
// RUN: cp %t/gpt2/model.safetensors %t/shards/model-00001-of-00001.safetensors
// RUN: sed 's/MAP/"transformer.wte.weight": "model-00001-of-00001.safetensors"/' %t/index > %t/shards/model.safetensors.index.json
// RUN: not tpsp-run %t/gpt2.mlir --quiet --weights %t/shards 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}tpsp-run: '{{.*}}shards' does not fit the program: 'transformer.wpe.weight' is missing, f32 of [6, 12]; {{.*}} and {{[0-9]+}} more{{$}}
// RUN: head -c 2000 %t/gpt2/model.safetensors > %t/shards/model-00001-of-00001.safetensors
// RUN: not tpsp-run %t/gpt2.mlir --quiet --weights %t/shards 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: {{^}}tpsp-run: cannot read '{{.*}}model-00001-of-00001.safetensors': {{.*}}cut short
// RUN: sed 's/MAP/"w": "..\/gpt2\/model.safetensors"/' %t/index > %t/shards/model.safetensors.index.json
// RUN: not tpsp-run %t/gpt2.mlir --quiet --weights %t/shards 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: it names the file '../gpt2/model.safetensors', which is not one beside it{{$}}

// Of another architecture, of other parts, or of nothing.
// RUN: not tpsp-run %t/gpt2.mlir --quiet --weights %t/mixtral 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: {{^}}tpsp-run: '{{.*}}mixtral', a MixtralForCausalLM, does not fit the program: 'transformer.wte.weight' is missing
// RUN: sed 's/c_attn.weight\[:, 24:36\]/c_attn.weight[:, 30:42]/' %t/gpt2.mlir > %t/beyond.mlir
// RUN: not tpsp-run %t/beyond.mlir --quiet --weights %t/gpt2 2>&1 | FileCheck %s --check-prefix=PART
// PART: 'transformer.h.0.attn.c_attn.weight' is [12, 36], which has no part [12, 12] of 'transformer.h.0.attn.c_attn.weight[:, 30:42]'
// RUN: mkdir %t/empty
// RUN: not tpsp-run %t/gpt2.mlir --quiet --weights %t/empty 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: folder '{{.*}}empty' has no weights: none of model.safetensors.index.json, model.safetensors, parameters.safetensors
// RUN: sed 's/c_attn.weight\[:, 12:24\]/other/' %t/gpt2.mlir > %t/gap.mlir
// RUN: not tpsp-run %t/gap.mlir --quiet --save %t/gap.st 2>&1 | FileCheck %s --check-prefix=GAP
// GAP: the program's parts of 'transformer.h.0.attn.c_attn.weight' have a gap at position 12; --save writes whole tensors

// Checkpoints of training are read by the same names, and go on.
// RUN: tpsp-train %t/gpt2.mlir --quiet --data %s --weights %t/gpt2 --lr 0 --optimizer sgd --steps 1 --out %t/run
// RUN: cmp %t/gpt2/model.safetensors %t/run/step-00000001/parameters.safetensors
// RUN: tpsp-train %t/gpt2-tp.mlir --quiet --data %s --resume %t/run --lr 0 --optimizer sgd --steps 2 --out %t/run
// RUN: cmp %t/gpt2/model.safetensors %t/run/step-00000002/parameters.safetensors
// RUN: tpsp-run %t/gpt2.mlir --quiet --weights %t/run/step-00000002 --save %t/again.st
// RUN: cmp %t/gpt2/model.safetensors %t/again.st

//--- gpt2/config.json
{"model_type": "gpt2", "n_embd": 12, "n_head": 2, "n_layer": 2, "n_inner": 10,
 "n_positions": 6, "vocab_size": 256}
//--- mixtral/config.json
{"model_type": "mixtral", "architectures": ["MixtralForCausalLM"],
 "hidden_size": 12, "intermediate_size": 10, "num_hidden_layers": 1,
 "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 22,
 "head_dim": 2, "num_local_experts": 4, "num_experts_per_tok": 2}
//--- shards/none
//--- index
{"metadata": {}, "weight_map": {MAP}}
