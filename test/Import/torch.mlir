// Archives of torch.export.save: the imported programs compute what PyTorch
// computed when the archives were made, by test/pytorch/make-archives.py.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t

// Layers become one function, attention, norms and rotations operations.
// RUN: tpsp-import %S/Inputs/torch/llama.pt2 -o %t/llama.mlir --recognised --save-weights %t/llama.st 2>&1 | FileCheck %s --check-prefix=FOUND
// RUN: FileCheck %s --check-prefix=LLAMA --input-file %t/llama.mlir
// RUN: tpsp-run %t/llama.mlir --quiet --grad --weights %t/llama.st --inputs %S/Inputs/torch/llama-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/llama.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL
// FOUND: attention: 3, with a bias: 0, rope: 6, norms: 7, losses: 1, repeated layers: 1
// EQUAL: tensors are equal
//
// LLAMA: tpsp.program <{{.*}}, g = 2, {{.*}}r = 2, {{.*}}>
// LLAMA: func private @layer(
// LLAMA-NEXT: %x: [b, s, d],
// LLAMA-NEXT: param %q_proj "self_attn.q_proj.weight": [q, d],
// LLAMA-NEXT: param %k_proj "self_attn.k_proj.weight": [kv, d],
// LLAMA: %[[Q:.*]] = rope %{{.*}} {feature = "k", position = "s", theta = 10000.0}
// LLAMA: attention {{.*}}causal, feature = "k",
// LLAMA: func @model(
// LLAMA-NEXT: %ids: i32[b, s],
// LLAMA-NEXT: %labels: i32[b, s],
// LLAMA-NEXT: param %embed_tokens "network.model.model.embed_tokens.weight": [v, d],
// LLAMA-NOT: lm_head.weight
// LLAMA: repeat 3 @layer(%{{.*}}) as "network.model.model.layers.#.*"
// LLAMA: cross_entropy %out, %labels

// Without recognition the same is computed, on one rank and on a mesh.
// RUN: tpsp-import %S/Inputs/torch/llama.pt2 -o %t/plain.mlir --keep-operations --keep-layers --place ddp-tp --mesh dp=2,tp=2
// RUN: tpsp-import %S/Inputs/torch/llama.pt2 -o %t/plain.mlir --keep-layers --place ddp-tp --mesh dp=2,tp=2 --save-weights %t/plain.st --keep-operations
// RUN: FileCheck %s --check-prefix=PLAIN --input-file %t/plain.mlir
// RUN: tpsp-run %t/plain.mlir --quiet --grad --weights %t/plain.st --inputs %S/Inputs/torch/llama-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/llama.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL
// PLAIN-NOT: attention %
// PLAIN-NOT: {{rms_norm|rope|repeat}} {{[%0-9]}}
// PLAIN: softmax

// Masks that are spelled out; tied matrices; mixed kinds of layers.
// RUN: tpsp-import %S/Inputs/torch/gpt-tied.pt2 -o %t/gpt.mlir --recognised --save-weights %t/gpt.st 2>&1 | FileCheck %s --check-prefix=SPELLED
// RUN: tpsp-run %t/gpt.mlir --quiet --grad --weights %t/gpt.st --inputs %S/Inputs/torch/gpt-tied-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/gpt-tied.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL
// SPELLED: attention: 3, with a bias: 0, rope: 0, norms: 7, losses: 1, repeated layers: 1

// Convolutions, pooling and batch norm.
// RUN: tpsp-import %S/Inputs/torch/convolutions.pt2 -o %t/c.mlir --save-weights %t/c.st
// RUN: tpsp-run %t/c.mlir --quiet --grad --weights %t/c.st --inputs %S/Inputs/torch/convolutions-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/convolutions.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL

// Two attentions of queries that are a parameter.
// RUN: tpsp-import %S/Inputs/torch/detection.pt2 -o %t/d.mlir --save-weights %t/d.st
// RUN: tpsp-run %t/d.mlir --quiet --grad --weights %t/d.st --inputs %S/Inputs/torch/detection-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/detection.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL

// Parts of a fused matrix, and norms without parameters.
// RUN: tpsp-import %S/Inputs/torch/diffusion.pt2 -o %t/d.mlir --save-weights %t/d.st
// RUN: tpsp-run %t/d.mlir --quiet --grad --weights %t/d.st --inputs %S/Inputs/torch/diffusion-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/diffusion.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL

// An einsum of a tensor with itself, and columns of integers.
// RUN: tpsp-import %S/Inputs/torch/dlrm.pt2 -o %t/d.mlir --save-weights %t/d.st
// RUN: tpsp-run %t/d.mlir --quiet --grad --weights %t/d.st --inputs %S/Inputs/torch/dlrm-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/dlrm.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL

// Powers of differences of positions.
// RUN: tpsp-import %S/Inputs/torch/state-space.pt2 -o %t/s.mlir --save-weights %t/s.st
// RUN: tpsp-run %t/s.mlir --quiet --grad --weights %t/s.st --inputs %S/Inputs/torch/state-space-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/state-space.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL

// An index has the name that is asked for.
// RUN: tpsp-import %S/Inputs/torch/gpt-tied.pt2 --name e=hidden | FileCheck %s --check-prefix=NAMED
// NAMED: param %up "up.weight": [hidden, d],
// RUN: tpsp-import %S/Inputs/torch/gpt-tied.pt2 --count | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}10384{{$}}
