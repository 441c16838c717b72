// Gradients of weights are added to their sums over micro-batches by the
// products that compute them: those of 7 matrices in 6 layers, and of the head.
// RUN: tpsp-opt %examples/llama-tiny.mlir --tpsp-pipeline="grad=true micro-batches=4" --mlir-print-ir-before=convert-tpsp-to-plan -o /dev/null 2> %t.mlir
// RUN: tpsp-opt %t.mlir --convert-tpsp-to-plan > %t.added
// RUN: FileCheck %s < %t.added
// RUN: grep -c 'epilogue = \["add"\]' %t.added | FileCheck %s --check-prefix=COUNT
// COUNT: {{^}}43{{$}}
// CHECK: plan.matmul %{{.+}}, %{{.+}}, %[[SUM:.+]] reads(%[[SUM]] : memref<{{.*}}>) {{.*}}epilogue = ["add"]

// Or they stay kernels, and so do additions to sums in 16 bits.
// RUN: tpsp-opt %t.mlir --convert-tpsp-to-plan=add-gradients=false | FileCheck %s --check-prefix=NONE
// NONE-NOT: epilogue = ["add"]
