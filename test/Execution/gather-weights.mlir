// Parameters that FSDP divides are gathered for each pass of each micro-batch,
// or once a step. Results are the same.
// REQUIRES: tpsp-run
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{run} = tpsp-run %examples/fsdp.mlir --grad --verify --bucket-mib 0

// RUN: %{run} --micro-batches 2 | FileCheck %s --check-prefixes=EACH,RIGHT
// RUN: %{run} --micro-batches 2 --gather-weights step | FileCheck %s --check-prefixes=ONCE,RIGHT
// RUN: %{run} --micro-batches 2 --gather-weights step --keep-gathered | FileCheck %s --check-prefixes=ONCE,RIGHT
// RUN: %{run} --micro-batches 2 --gather-weights step --rematerialize full --optimizer adamw --clip 1 | FileCheck %s --check-prefixes=ONCE,RIGHT
// RUN: %{run} --micro-batches 2 --gather-weights step --overlap on --optimizer adamw | FileCheck %s --check-prefixes=ONCE,RIGHT
// RUN: %{run} --micro-batches 2 --gather-weights step --dtype bf16 --reduce-gradients part | FileCheck %s --check-prefix=RIGHT

// Gathers of activations stay where they are, and so do stages. Copies that are
// rematerialised equal their originals.
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --micro-batches 2 --overlap on --gather-weights step --bucket-mib 0 | FileCheck %s --check-prefix=ACTIVATIONS
// ACTIVATIONS: {{^}}  forward   all_gather      x4 {{ *}}384.0 KiB
// ACTIVATIONS: {{^}}  backward  all_gather      x8 {{ *}}768.0 KiB
// RUN: tpsp-run %examples/pp.mlir --grad --gather-weights step | FileCheck %s --check-prefix=WHOLE
// WHOLE: {{^}}  forward   transfer        x1
// RUN: sed 's/%xn = rms_norm %x, %gain1/%xn = rms_norm %x, %gain1\n  %wt = scale %wq {factor = 2}/; s/einsum %wq, %xn/einsum %wt, %xn/' %examples/fsdp.mlir > %t/scaled.mlir
// RUN: tpsp-run %t/scaled.mlir --grad --verify --bucket-mib 0 --micro-batches 2 --gather-weights step --rematerialize full | FileCheck %s --check-prefixes=ONCE,RIGHT

// With stages each stage gathers the weights of its own layers.
// RUN: sed -e 's/pp = 2 : stage, tp = 2 : model/pp = 2 : stage, fsdp = 2 : data/' -e 's/\[b, s@tp/[b@fsdp, s/g' -e 's/i32\[b,/i32[b@fsdp,/g' -e 's/\[\([hev]\)@tp, \([^]]*\)d\]/[\1, \2d@fsdp]/g' -e 's/\[d, \([he]\)@tp/[d@fsdp, \1/g' -e 's/@tp//g' %examples/pp.mlir > %t/stages.mlir
// DEFINE: %{stages} = tpsp-run %t/stages.mlir --grad --verify --micro-batches 4 --optimizer adamw
// RUN: %{stages} | FileCheck %s --check-prefixes=STAGES,RIGHT
// RUN: %{stages} --gather-weights step | FileCheck %s --check-prefixes=STAGES-ONCE,RIGHT
// RUN: %{stages} --gather-weights step --overlap on --stage-schedule zero-bubble --stage-chunks 2 | FileCheck %s --check-prefixes=STAGES-ONCE,RIGHT

// A file of actions that gathers says so itself.
// RUN: printf '0UNSHARD,0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3,0RESHARD\n1UNSHARD,1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3,1RESHARD\n' > %t/once.csv
// RUN: %{stages} --stage-actions %t/once.csv 2>&1 | FileCheck %s --check-prefixes=QUIET,STAGES-ONCE,RIGHT
// RUN: %{stages} --stage-actions %t/once.csv --gather-weights part 2>&1 | FileCheck %s --check-prefixes=LEFT,STAGES,RIGHT
// RUN: sed 's/0B0/0RESHARD,0UNSHARD,0B0/' %t/once.csv > %t/twice.csv
// RUN: %{stages} --stage-actions %t/twice.csv 2>&1 | FileCheck %s --check-prefixes=TWICE,STAGES-ONCE,RIGHT
// QUIET-NOT: warning
// LEFT: warning: {{.*}}once.csv: 2 gathers are left out: each segment gathers its weights; to gather them once a step, give --gather-weights step
// TWICE: warning: {{.*}}twice.csv: some chunk's weights are gathered 2 times; here they are gathered once, and kept for the step
// EACH: {{^}}  forward   all_gather      x24 {{ *}}2.2 MiB
// EACH: {{^}}  backward  all_gather      x24 {{ *}}2.2 MiB
// ONCE-NOT: {{^}}  backward  all_gather
// ONCE: {{^}}  forward   all_gather      x12 {{ *}}1.1 MiB
// STAGES: {{^}}  forward   all_gather      x60 {{ *}}688.0 KiB
// STAGES: {{^}}  backward  all_gather      x60 {{ *}}688.0 KiB
// STAGES-ONCE: layers.0.wq {{.*}}; gathered once a step
// STAGES-ONCE-NOT: {{^}}  backward  all_gather
// STAGES-ONCE: {{^}}  forward   all_gather      x15 {{ *}}172.0 KiB
// RIGHT: all within tolerance
