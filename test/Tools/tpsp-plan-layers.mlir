// A deep program is judged by two and three of its layers. The figures composed
// for six are compared with the whole.
// REQUIRES: tpsp-run
// RUN: tpsp-plan %examples/llama-tiny.mlir --forget-placements --hardware h100-sxm --devices 4 --max-axes 1 --overlap off | FileCheck %s
// CHECK: of {{[0-9]+}} compiled whole, times differ by at most {{[01]\.[0-9]}} %, memory by {{[0-2]\.[0-9]}} %
// CHECK: gap 0
