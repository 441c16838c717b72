// The command line: wrong usage is status 2 and one line with a way on.
// REQUIRES: tpsp-run

// RUN: %S/Inputs/exits 0 tpsp-run --help | FileCheck %s --check-prefix=HELP
// HELP: Usage: {{.*}}tpsp-run
// HELP: --mesh
// HELP: Examples:
// HELP: tpsp-run examples/mlp-sp.mlir --grad --verify
// HELP: Exit status: 0 done, 1 the program or the run failed, 2 wrong usage,
// HELP-NEXT: 3 the step that --simulate predicts does not fit into the machine's memory,
// HELP-NEXT: 4 with --verify: no result is wrong, but some are infinite or NaN.

// RUN: %S/Inputs/exits 2 tpsp-run 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: {{^}}tpsp-run: model is required
// NOTHING-NEXT: Run with --help for more information.

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir other.mlir 2>&1 | FileCheck %s --check-prefix=EXTRA
// EXTRA: {{^}}tpsp-run: The following argument was not expected: other.mlir

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --gard 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: {{^}}tpsp-run: The following argument was not expected: --gard

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --dtype fp16 2>&1 | FileCheck %s --check-prefix=DTYPE
// DTYPE: {{^}}tpsp-run: --dtype: fp16 not in {f64,f32,bf16,f16}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --steps 0 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --steps many 2>&1 | FileCheck %s --check-prefix=STEPS
// STEPS: {{^}}tpsp-run: --steps: expected a number above 0, not '{{0|many}}'{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --threads -1 2>&1 | FileCheck %s --check-prefix=THREADS
// THREADS: {{^}}tpsp-run: --threads: expected a number above 0, not '-1'{{$}}

// No machine has so many cores, and OpenMP would end the process.
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --threads 1025 2>&1 | FileCheck %s --check-prefix=CORES
// CORES: {{^}}tpsp-run: --threads: expected a number of at most 1024, not '1025'{{$}}

// A seed is 64 bits, and no other number is taken for one.
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet --seed 18446744073709551615
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --seed -1 2>&1 | FileCheck %s --check-prefix=SEED
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --seed 18446744073709551616 2>&1 | FileCheck %s --check-prefix=SEED
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --seed 1e3 2>&1 | FileCheck %s --check-prefix=SEED
// SEED: {{^}}tpsp-run: --seed: expected a whole number from 0 to 2^64 - 1, not '{{-1|18446744073709551616|1e3}}'{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --timeout 0 2>&1 | FileCheck %s --check-prefix=TIMEOUT
// TIMEOUT: {{^}}tpsp-run: --timeout: expected a number above 0, not '0'{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --timeout inf 2>&1 | FileCheck %s --check-prefix=LONG
// LONG: {{^}}tpsp-run: --timeout: expected a number of at most 1e9, not 'inf'{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --bucket-mib -1 2>&1 | FileCheck %s --check-prefix=BUCKET
// BUCKET: {{^}}tpsp-run: --bucket-mib: expected a number from 0 to 1e9, not '-1'{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --micro-batches 0 2>&1 | FileCheck %s --check-prefix=PARTS
// PARTS: {{^}}tpsp-run: --micro-batches: expected a number above 0, not '0'{{$}}

// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --function 2>&1 | FileCheck %s --check-prefix=VALUE
// VALUE: {{^}}tpsp-run: --function: {{.+}}

// Errors only.
// RUN: tpsp-run %examples/mlp-sp.mlir --quiet 2>&1 | count 0

// Options of the backward pass need a program that has one.
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --rematerialize full 2>&1 | FileCheck %s --check-prefix=REMATERIALIZE
// REMATERIALIZE: {{^}}tpsp-run: --rematerialize says what the backward pass keeps, and there is none without --grad{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --keep-gathered 2>&1 | FileCheck %s --check-prefix=GATHERED
// GATHERED: {{^}}tpsp-run: --keep-gathered says what the backward pass keeps, and there is none without --grad{{$}}
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --grad --rematerialize some 2>&1 | FileCheck %s --check-prefix=MODE
// MODE: {{^}}tpsp-run: --rematerialize: some not in {none,selective,full}
// An empty value, such as from an unset shell variable.
// RUN: %S/Inputs/exits 2 tpsp-run %examples/mlp-sp.mlir --emit "" 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: {{^}}tpsp-run: --emit: expected a value, and this is empty{{$}}
// RUN: %S/Inputs/exits 2 tpsp-train %examples/llama-tiny.mlir --data x --resume "" 2>&1 | FileCheck %s --check-prefix=RESUME
// RESUME: {{^}}tpsp-train: --resume: expected a value, and this is empty{{$}}
// RUN: %S/Inputs/exits 2 tpsp-plan %examples/llama-tiny.mlir --hardware "" 2>&1 | FileCheck %s --check-prefix=PLAN
// PLAN: {{^}}tpsp-plan: --hardware: expected a value, and this is empty{{$}}
