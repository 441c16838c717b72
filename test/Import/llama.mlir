// A Llama from config.json: the program, and its results on meshes, compared
// with the unsharded program.
// REQUIRES: tpsp-run
// RUN: split-file %s %t

// RUN: tpsp-import %t/config.json --sequence 8 --place tp-sp --mesh tp=4 -o %t/sp.mlir
// RUN: FileCheck %s < %t/sp.mlir
// CHECK: LlamaForCausalLM of 3 layers, width d 15, 8 heads of k 6 in g 4 groups of r 2,
// CHECK-NEXT: vocabulary v 56; batch b 1, sequence s 8. 13665 parameters.
// CHECK: tpsp.program <b = 1, d = 15, e = 40, g = 4, k = 6, kv = 24, q = 48, r = 2, s = 8, v = 56, t = s> {
// CHECK-NEXT: mesh @mesh <tp = 4 : model>
// CHECK: func private @layer(
// CHECK-NEXT: %x: [b, s@tp, d],
// CHECK: param %q_proj "self_attn.q_proj.weight": [q@tp, d],
// CHECK: param %k_proj "self_attn.k_proj.weight": [kv@tp, d],
// CHECK: rope {{.*}} theta = 500000, stretch = 8, trained = 64,
// CHECK-NEXT: slow_turns = 1, fast_turns = 4}{{$}}
// CHECK: param %head "lm_head.weight": [v@tp, d]) -> [] {
// CHECK: %x3 = repeat 3 @layer(%x) as "model.layers.#.*"
// CHECK-NEXT: %normed = rms_norm %x3, %norm {eps = 1e-05}{{$}}

// The program has the same lines for any number of layers.
// RUN: sed 's/"num_hidden_layers": 3/"num_hidden_layers": 300/' %t/config.json > %t/deep.json
// RUN: tpsp-import %t/deep.json --sequence 8 --place tp-sp --mesh tp=4 -o %t/deep.mlir
// RUN: sed -e 's/repeat 300/repeat 3/' -e 's/x300/x3/g' -e '/^\/\//d' %t/deep.mlir > %t/deep.txt
// RUN: sed '/^\/\//d' %t/sp.mlir | diff - %t/deep.txt

// RUN: tpsp-import %t/config.json --sequence 8 --count | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}13665{{$}}

// Every strategy; key/value heads are copied if there are more ranks.
// RUN: tpsp-run %t/sp.mlir --grad --verify | FileCheck %s --check-prefix=VERIFIED
// RUN: tpsp-import %t/config.json --sequence 8 --layers 1 --place tp --mesh tp=8 -o %t/rep.mlir
// RUN: FileCheck %s --check-prefix=COPIES < %t/rep.mlir
// COPIES: <tp = 4 : model, rep = 2 : model>
// COPIES: param %q_proj {{.*}}[q@tp@rep, d]
// COPIES: param %k_proj {{.*}}[kv@tp, d]
// RUN: tpsp-run %t/rep.mlir --grad --verify | FileCheck %s --check-prefix=VERIFIED
// RUN: tpsp-import %t/config.json --sequence 8 --batch 2 --layers 1 -o %t/one.mlir
// RUN: FileCheck %s --check-prefix=ONE < %t/one.mlir
// ONE-NOT: mesh @
// ONE-NOT: @tp
// RUN: tpsp-run %t/one.mlir --grad --verify | FileCheck %s --check-prefix=VERIFIED
// RUN: tpsp-import %t/config.json --sequence 8 --batch 6 --layers 1 --place hsdp --mesh fsdp=3 -o %t/hsdp.mlir
// RUN: FileCheck %s --check-prefix=HSDP < %t/hsdp.mlir
// HSDP: <dp = 2 : data, fsdp = 3 : data>
// HSDP: param %input_layernorm {{.*}}: [d],
// HSDP: param %q_proj {{.*}}: [q, d@fsdp],
// RUN: tpsp-import %t/config.json --sequence 8 --batch 4 --layers 1 --place tp-sp-fsdp --mesh fsdp=1 --head logits -o %t/3d.mlir
// RUN: FileCheck %s --check-prefix=LOGITS < %t/3d.mlir
// LOGITS: func @model(
// LOGITS: -> [b@fsdp, s, v@tp] {
// LOGITS: return %logits
// RUN: tpsp-run %t/3d.mlir --grad --verify | FileCheck %s --check-prefix=VERIFIED
// RUN: tpsp-import %t/config.json --sequence 8 --batch 2 --layers 1 --dtype bf16 --place ddp-cp -o %t/cp.mlir
// RUN: tpsp-run %t/cp.mlir --grad --verify | FileCheck %s --check-prefix=VERIFIED
// VERIFIED: all within tolerance

// A tied head and biases; older configurations have rope_parameters, too.
// RUN: tpsp-import %t/tied.json --sequence 8 -o %t/tied.mlir
// RUN: FileCheck %s --check-prefix=TIED < %t/tied.mlir
// TIED-DAG: param {{.*}} "self_attn.o_proj.bias"
// TIED-DAG: param {{.*}} "mlp.up_proj.bias"
// TIED-DAG: rope {{.*}} theta = 1000, stretch = 4}{{$}}
// TIED-NOT: lm_head
// TIED: einsum %embedding, %normed
// RUN: tpsp-run %t/tied.mlir --grad --verify | FileCheck %s --check-prefix=VERIFIED

//--- config.json
{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
 "hidden_size": 15, "intermediate_size": 40, "num_hidden_layers": 3,
 "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 6,
 "vocab_size": 56, "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
 "rope_scaling": {"rope_type": "llama3", "factor": 8.0,
                  "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                  "original_max_position_embeddings": 64},
 "tie_word_embeddings": false, "max_position_embeddings": 131072,
 "torch_dtype": "bfloat16", "use_cache": true}

//--- tied.json
{"model_type": "llama", "hidden_size": 12, "intermediate_size": 7,
 "num_hidden_layers": 1, "num_attention_heads": 3, "vocab_size": 11,
 "tie_word_embeddings": true, "attention_bias": true, "mlp_bias": true,
 "rope_parameters": {"rope_type": "linear", "rope_theta": 1000, "factor": 4}}
