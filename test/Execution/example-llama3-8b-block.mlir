// A Llama 8B layer at its true widths, on a shorter sequence. It is large
// enough for blocked matmuls, long rows, and threads in every kernel, which
// small shapes do not have.
// REQUIRES: tpsp-run, nightly

// RUN: export TPSP_CODE_EFFORT=full
// RUN: tpsp-run %examples/llama3-8b-block.mlir --extent s=32 --mesh tp=4 --grad --verify --quiet --report %t.json
// RUN: python3 %S/Inputs/check-report.py %t.json
