// Buckets change the time of a reduction, not the gradients.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %examples/ddp.mlir --grad --verify

// RUN: %{run} | FileCheck %s --check-prefix=ONE
// ONE: backward all_reduce x1 2.3 MiB
// ONE: all within tolerance
// RUN: %{run} --bucket-mib 1 | FileCheck %s --check-prefix=SOME
// SOME: backward all_reduce x2 2.3 MiB
// SOME: all within tolerance
// RUN: %{run} --bucket-mib 0 | FileCheck %s --check-prefix=EACH
// EACH: backward all_reduce x{{2[0-9]}} 2.3 MiB
// EACH: all within tolerance
