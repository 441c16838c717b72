// One file serves all batches and sequences: the examples at other extents, at
// odd ones if no axis divides them, and at 1.
// REQUIRES: tpsp-run
// DEFINE: %{extent} =
// DEFINE: %{verify} = tpsp-run --grad --quiet --verify --extent %{extent}

// REDEFINE: %{extent} = b=1,s=20
// RUN: %{verify} %examples/gpt-block-sp.mlir
// RUN: %{verify} %examples/vocab-parallel.mlir
// REDEFINE: %{extent} = b=3,s=4
// RUN: %if nightly %{ %{verify} %examples/gpt-block-sp.mlir %}
// RUN: %if nightly %{ %{verify} %examples/vocab-parallel.mlir %}
// REDEFINE: %{extent} = b=5
// RUN: %{verify} %examples/gpt-block-sp.mlir

// REDEFINE: %{extent} = b=4,s=1
// RUN: %{verify} %examples/tp-dp.mlir
// RUN: %{verify} %examples/hsdp.mlir
// RUN: %{verify} %examples/llama-tiny.mlir
// REDEFINE: %{extent} = b=12,s=7
// RUN: %if nightly %{ %{verify} %examples/tp-dp.mlir %}
// RUN: %if nightly %{ %{verify} %examples/hsdp.mlir %}
// REDEFINE: %{extent} = s=12
// RUN: %if nightly %{ %{verify} %examples/tp-dp.mlir %}
// RUN: %{verify} %examples/cp-attention.mlir

// A mesh and extents that fit each other, but not those of the program.
// REDEFINE: %{extent} = b=3,s=4 --mesh dp=3
// RUN: %{verify} %examples/llama-tiny.mlir
// RUN: not tpsp-run %examples/llama-tiny.mlir --mesh dp=3 --extent b=4 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MISFIT
// MISFIT: error: {{.*}} index 'b' of operand #0 has extent 4, which its axes (dp: 3 ranks) do not divide
// MISFIT: does not compile (configuring)

// Both names of a sequence, and the experts' groups.
// REDEFINE: %{extent} = t=4
// RUN: %{verify} %examples/cp-attention.mlir
// REDEFINE: %{extent} = g=2,s=8
// RUN: %{verify} %examples/moe-ep.mlir

// RUN: tpsp-run %examples/gpt-block-sp.mlir --extent s=64 --grad --simulate --hardware h100-sxm | FileCheck %s --check-prefix=HALF
// HALF: inputs           64.0 KiB
// RUN: not tpsp-run %examples/gpt-block-sp.mlir --extent s=63 2>&1 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN: error: {{.*}}index 's'{{.*}}has extent 63, which its axes (tp: 4 ranks) do not divide
// RUN: not tpsp-run %examples/gpt-block-sp.mlir --extent x=4 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: {{.*}}the program has no index 'x'; its indices are b, s, d
// RUN: not tpsp-run %examples/gpt-block-sp.mlir --extent s 2>&1 | FileCheck %s --check-prefix=MALFORMED
// MALFORMED: tpsp-run: --extent: expected index=extent with an extent of at least 1, such as s=8192, not 's'
// RUN: not tpsp-run %examples/gpt-block-sp.mlir --extent s=4 --extent s=8 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: tpsp-run: --extent gives index 's' two extents
