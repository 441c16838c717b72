// A Llama 8B layer at its true widths, on a shorter sequence. Large enough for
// what small shapes do not reach: blocked matmuls, long rows, threads in every
// kernel.
// REQUIRES: tpsp-run

// RUN: tpsp-run %examples/llama3-8b-block.mlir --extent s=32 --mesh tp=4 --grad --verify --quiet --report %t.json
// RUN: python3 %S/Inputs/check-report.py %t.json
