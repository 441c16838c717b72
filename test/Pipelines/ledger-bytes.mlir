// Bytes per rank, by the ring algorithm, of every collective of a GPT block.
// One activation is A = 2 * 128 * 256 * 4 = 262144 bytes. Under TP+SP each
// gather and each scatter sends A (T-1)/T; under TP each all-reduce twice that.

// RUN: tpsp-opt %examples/gpt-block-sp.mlir --tpsp-collective-pipeline=grad=true --tpsp-drop-primals --tpsp-partition --tpsp-decompose-late --convert-tpsp-to-plan > %t.sp
// RUN: FileCheck %s --check-prefix=SP < %t.sp
// RUN: grep -c 'ledger' %t.sp | FileCheck %s --check-prefix=SPCOUNT
// RUN: tpsp-opt %examples/gpt-block-tp.mlir --tpsp-collective-pipeline=grad=true --tpsp-drop-primals --tpsp-partition --tpsp-decompose-late --convert-tpsp-to-plan > %t.tp
// RUN: FileCheck %s --check-prefix=TP < %t.tp
// RUN: grep -c 'ledger' %t.tp | FileCheck %s --check-prefix=TPCOUNT

// SP: plan.all_gather {{.*}} phase = "forward", bytes = 196608,
// SP: plan.reduce_scatter {{.*}} phase = "forward", bytes = 196608,
// SP: plan.all_gather {{.*}} phase = "forward", bytes = 196608,
// SP: plan.reduce_scatter {{.*}} phase = "forward", bytes = 196608,
// SP: plan.all_gather {{.*}} phase = "backward", bytes = 196608,
// SP: plan.all_gather {{.*}} phase = "backward", bytes = 196608,
// SP: plan.reduce_scatter {{.*}} phase = "backward", bytes = 196608,
// SP: plan.all_gather {{.*}} phase = "backward", bytes = 196608,
// SP: plan.all_gather {{.*}} phase = "backward", bytes = 196608,
// SP: plan.reduce_scatter {{.*}} phase = "backward", bytes = 196608,
// Six gains and biases of 256 f32, in one: 2 * 6144 * 3/4.
// SP: plan.all_reduce({{.*}} phase = "backward", bytes = 9216,
// SPCOUNT: {{^11$}}

// TP: plan.all_reduce({{.*}} phase = "forward", bytes = 393216,
// TP: plan.all_reduce({{.*}} phase = "forward", bytes = 393216,
// TP: plan.all_reduce({{.*}} phase = "backward", bytes = 393216,
// TP: plan.all_reduce({{.*}} phase = "backward", bytes = 393216,
// TPCOUNT: {{^4$}}
