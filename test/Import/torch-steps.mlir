// Archives of experts, of running statistics and of dynamic dimensions, and
// losses that an import adds. The numbers are PyTorch's, as in torch.mlir.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t

// Tokens that an archive sorts by their experts stay where they are: each meets
// the matrices of its own experts.
// RUN: tpsp-import %S/Inputs/torch/mixtral.pt2 -o %t/m.mlir --save-weights %t/m.st
// RUN: FileCheck %s --check-prefix=EXPERTS --input-file %t/m.mlir
// RUN: tpsp-run %t/m.mlir --quiet --grad --weights %t/m.st --inputs %S/Inputs/torch/mixtral-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/mixtral.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL
// EXPERTS: %[[CHOICE:gate.*]] = router %{{.*}} {choice = "j", expert = "x"} -> i32[b, s, j, ?]
// EXPERTS: one_hot_einsum %[[CHOICE]], %gate_up_proj, %{{.*}} {indices = ["x"]}
// EXPERTS-NEXT: -> [b, s, j, a, ?]
// EXPERTS: one_hot_einsum %[[CHOICE]], %down_proj, %{{.*}} {indices = ["x"]} -> [b, s, j, d, ?]
// EXPERTS: repeat 2 @layer(
// EQUAL: tensors are equal

// The same, with experts divided.
// RUN: tpsp-import %S/Inputs/torch/mixtral.pt2 -o %t/m.mlir --place ep --mesh ep=2 --save-weights %t/m.st
// RUN: FileCheck %s --check-prefix=DIVIDED --input-file %t/m.mlir
// RUN: tpsp-run %t/m.mlir --quiet --grad --weights %t/m.st --inputs %S/Inputs/torch/mixtral-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/mixtral.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL
// DIVIDED: param %down_proj "mlp.experts.down_proj": [x@ep, d, f]

// Statistics of batch norms are those of the whole batch, on every mesh. Their
// new running values are results.
// RUN: tpsp-import %S/Inputs/torch/batch-norm.pt2 -o %t/b.mlir --place ddp-tp --mesh dp=2,tp=2 --save-weights %t/b.st
// RUN: FileCheck %s --check-prefix=NORM --input-file %t/b.mlir
// RUN: tpsp-run %t/b.mlir --quiet --grad --weights %t/b.st --inputs %S/Inputs/torch/batch-norm-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/batch-norm.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL
// NORM: "network.norm.running_mean": {{.*}}{tpsp.frozen}
// NORM: return %out, %loss, %new_network_norm_running_mean, %new_network_norm_running_var,

// Dynamic dimensions have the extents that are given.
// RUN: tpsp-import %S/Inputs/torch/dynamic.pt2 -o %t/d.mlir --extent ids.0=3 --extent labels.1=10 --save-weights %t/d.st
// RUN: tpsp-run %t/d.mlir --quiet --grad --weights %t/d.st --inputs %S/Inputs/torch/dynamic-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/dynamic.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL

// RUN: not tpsp-import %S/Inputs/torch/dynamic.pt2 --extent ids.0=3 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: {{^}}tpsp-import: {{.*}}dynamic.pt2: dimensions have no extent: ids.1 (from 2 to 12), labels.1 (from 2 to 12); give each by --extent INPUT.DIM=N{{$}}
// RUN: not tpsp-import %S/Inputs/torch/dynamic.pt2 --extent ids.0=3 --extent ids.1=13 2>&1 | FileCheck %s --check-prefix=RANGE
// RANGE: {{^}}tpsp-import: {{.*}}dynamic.pt2: --extent: a dimension of 13 positions was not exported (from 2 to 12){{$}}
// RUN: not tpsp-import %S/Inputs/torch/dynamic.pt2 --extent ids.0=3 --extent labels.0=4 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: --extent labels.0=4: this dimension is the same as another of extent 3{{$}}
// RUN: not tpsp-import %S/Inputs/torch/dynamic.pt2 --extent ids.2=3 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: --extent ids.2=3: it has no dynamic dimension 'ids.2'; it has ids.0, ids.1, labels.0, labels.1{{$}}
// RUN: not tpsp-import %S/Inputs/torch/dynamic.pt2 --extent ids=3x 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: --extent 'ids=3x' is not INPUT.DIM=N, as ids.1=4096 is{{$}}

// A loss that the module lacks.
// RUN: tpsp-import %S/Inputs/torch/unlabelled.pt2 -o %t/u.mlir --loss cross-entropy --targets labels --place ddp-tp --mesh dp=2,tp=2 --save-weights %t/u.st
// RUN: tpsp-run %t/u.mlir --quiet --grad --weights %t/u.st --inputs %S/Inputs/torch/unlabelled-inputs.safetensors --save-all %t/all.st
// RUN: python3 %S/Inputs/check-torch.py %S/Inputs/torch/unlabelled.safetensors %t/all.st | FileCheck %s --check-prefix=EQUAL
// RUN: not tpsp-import %S/Inputs/torch/unlabelled.pt2 --loss mse --targets ids 2>&1 | FileCheck %s --check-prefix=TAKEN
// TAKEN: --targets ids: the module has an input of this name{{$}}
// RUN: not tpsp-import %S/Inputs/torch/mixtral.pt2 --loss cross-entropy 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: --loss cross-entropy: the module has a loss{{$}}
