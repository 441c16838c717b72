// Operations that become several: activations, losses of numbers, positions in
// another order, norms, maxima, transposed convolutions and interpolation. The
// imported programs compute what PyTorch computed, with gradients.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{model} =
// DEFINE: %{import} = tpsp-import %S/Inputs/torch/%{model}.pt2 -o %t/%{model}.mlir --save-weights %t/%{model}.st
// DEFINE: %{run} = tpsp-run %t/%{model}.mlir --quiet --grad --weights %t/%{model}.st --inputs %S/Inputs/torch/%{model}-inputs.safetensors --save-all %t/all.st
// DEFINE: %{check} = python3 %S/Inputs/check-torch.py %S/Inputs/torch/%{model}.safetensors %t/all.st | FileCheck %s
// CHECK: tensors are equal

// REDEFINE: %{model} = activations
// RUN: %{import}
// RUN: %{run}
// RUN: %{check}

// Integers that are constants are inputs. The importer says so where it does
// not write them.
// REDEFINE: %{model} = orders
// RUN: %{import} 2>&1 | FileCheck %s --check-prefix=NOTE
// NOTE: note: {{[0-9]+}} constant{{.*}} of integers {{.*}}: constant.{{.*}}. Write them with --save-constants FILE, and give that to tpsp-run as --inputs FILE
// RUN: %{import} --save-constants %t/constants.st
// RUN: %{run} --inputs %t/constants.st
// RUN: %{check}
// RUN: %{import} --place ddp-tp --mesh dp=2,tp=1
// RUN: %{run} --inputs %t/constants.st
// RUN: %{check}

// Transforms are products with constant matrices. Nothing computes a part of a
// complex number that is not used.
// REDEFINE: %{model} = transforms
// RUN: %{import}
// RUN: FileCheck %s --check-prefix=TRANSFORMS < %t/transforms.mlir
// TRANSFORMS-COUNT-2: = stack
// TRANSFORMS-NOT: = stack
// RUN: %{run}
// RUN: %{check}
// RUN: %{import} --place ddp-tp --mesh dp=2,tp=2
// RUN: %{run}
// RUN: %{check}

// REDEFINE: %{model} = enlarged
// RUN: %{import}
// RUN: %{run}
// RUN: %{check}
// RUN: %{import} --place ddp-tp --mesh dp=2,tp=2
// RUN: %{run}
// RUN: %{check}

// Recurrent layers, whose steps are written out.
// REDEFINE: %{model} = recurrent
// RUN: %{import}
// RUN: %{run}
// RUN: %{check}
// RUN: %{import} --place ddp --mesh dp=3
// RUN: %{run}
// RUN: %{check}

// Products of complex numbers.
// REDEFINE: %{model} = rotations
// RUN: %{import}
// RUN: FileCheck %s --check-prefix=COMPLEX < %t/rotations.mlir
// COMPLEX: attention
// COMPLEX-SAME: causal
// RUN: %{run}
// RUN: %{check}
// RUN: %{import} --place ddp-tp --mesh dp=2,tp=2
// RUN: %{run}
// RUN: %{check}

// Bags of rows, times that are integers, weights of classes, smoothed labels.
// REDEFINE: %{model} = bags
// RUN: %{import}
// RUN: FileCheck %s --check-prefix=BAGS < %t/bags.mlir
// BAGS: %ids: i32[
// BAGS: %times: [
// RUN: %{run}
// RUN: %{check}
// RUN: %{import} --place ddp --mesh dp=2
// RUN: %{run}
// RUN: %{check}

// A layer that is there twice is no other layer, and the new value of a buffer
// has no gradient.
// REDEFINE: %{model} = shared
// RUN: %{import}
// RUN: FileCheck %s --check-prefix=SHARED < %t/shared.mlir
// SHARED-NOT: repeat
// RUN: %{run}
// RUN: %{check}

// Layers that take turns are a function for each kind, and a call for each.
// REDEFINE: %{model} = alternating
// RUN: %{import}
// RUN: FileCheck %s --check-prefix=TURNS < %t/alternating.mlir
// TURNS: func private @layer(
// TURNS: func private @layer2(
// TURNS-NOT: func private
// TURNS: = call @layer(%x) as "network.layers.0.*"
// TURNS-NEXT: = call @layer2(%x1) as "network.layers.1.*"
// TURNS-NEXT: = call @layer(%x2) as "network.layers.2.*"
// TURNS-NEXT: = call @layer2(%x3) as "network.layers.3.*"
// TURNS-NEXT: = call @layer(%x4) as "network.layers.4.*"
// RUN: %{run}
// RUN: %{check}
// RUN: %{import} --place ddp-tp --mesh dp=2,tp=2
// RUN: %{run}
// RUN: %{check}

// Variances, products of all positions before, losses of log-probabilities, and
// pixels that become channels.
// REDEFINE: %{model} = statistics
// RUN: %{import}
// RUN: %{run}
// RUN: %{check}
// RUN: %{import} --place ddp-tp --mesh dp=2,tp=2
// RUN: %{run}
// RUN: %{check}

// What is f32 in a module of bf16 says so.
// REDEFINE: %{model} = narrow
// RUN: %{import}
// RUN: FileCheck %s --check-prefix=NARROW < %t/narrow.mlir
// NARROW: convert {{.*}} -> f32[
// RUN: tpsp-run %t/narrow.mlir --grad --verify | FileCheck %s --check-prefix=VERIFIED
// VERIFIED: all within tolerance

// Sorts, the best of integers, sums and elements at places that are computed, and
// patches that overlap.
// REDEFINE: %{model} = sorts
// RUN: %{import} --place ddp-tp --mesh dp=2,tp=2
// RUN: %{run}
// RUN: %{check}
