// With overlap, one micro-batch stands for all but the last, which is a segment
// with the update. Gradients are reduced under its backward pass.
// DEFINE: %{parts} =
// DEFINE: %{plan} = sed "s/<b = 16/<b = 2048/" %examples/llama-tiny.mlir | tpsp-opt --tpsp-pipeline="grad=true optimizer=adamw optimizer-axes=dp micro-batches=%{parts} overlap=on hardware=h100-sxm"

// REDEFINE: %{parts} = 8
// RUN: %{plan} -o %t.8
// RUN: FileCheck %s < %t.8
// CHECK: plan.program @model_grad
// CHECK-SAME: micro_batches = 8
// CHECK-SAME: name = "prologue", {{.*}}runs = "once"
// CHECK-SAME: name = "micro-batch", {{.*}}runs = "all but last"
// CHECK-SAME: name = "last micro-batch", {{.*}}runs = "last"
// All micro-batches but the last only compute. The last one's streams begin and
// end together, and a matmul is issued after the first reduction.
// CHECK-NOT: plan.segment = 1 : i64{{.*}}stream = 1
// CHECK: plan.event_record [[BEGIN:[0-9]+]] {plan.segment = 2
// CHECK-NEXT: plan.event_wait [[BEGIN]] {plan.segment = 2 {{.*}}stream = 1
// CHECK: plan.reduce_scatter {{.*}}plan.segment = 2 {{.*}}stream = 1
// CHECK: plan.matmul
// CHECK: plan.all_gather {{.*}}plan.segment = 2 {{.*}}stream = 1
// CHECK: plan.event_record [[END:[0-9]+]] {plan.segment = 2 {{.*}}stream = 1
// CHECK-NEXT: plan.event_wait [[END]] {plan.segment = 2
// CHECK-NOT: plan.matmul

// More micro-batches have the same commands and kernels.
// REDEFINE: %{parts} = 512
// RUN: %{plan} -o %t.512
// RUN: grep -cE "plan\.(kernel|matmul|reduce|all_|attention)" %t.8 > %t.count
// RUN: grep -cE "plan\.(kernel|matmul|reduce|all_|attention)" %t.512 | diff %t.count -
// RUN: grep -c "func.func" %t.8 > %t.kernels
// RUN: grep -c "func.func" %t.512 | diff %t.kernels -

// Up to four are written out.
// REDEFINE: %{parts} = 4
// RUN: %{plan} | FileCheck %s --check-prefix=FEW
// FEW: plan.program @model_grad
// FEW-NOT: micro_batches
// FEW-NOT: plan.segment
