// Outputs and gradients do not depend on the values that the backward pass
// keeps or makes again.
// REQUIRES: tpsp-run

// RUN: %if nightly %{ tpsp-run %examples/mlp-tp.mlir --grad --verify --quiet --rematerialize selective %}
// RUN: %if nightly %{ tpsp-run %examples/mlp-tp.mlir --grad --verify --quiet --rematerialize full %}
// RUN: %if nightly %{ tpsp-run %examples/mlp-sp.mlir --grad --verify --quiet --rematerialize full %}
// RUN: tpsp-run %examples/mlp-sp.mlir --grad --verify --quiet --keep-gathered
// RUN: %if nightly %{ tpsp-run %examples/gpt-block-tp.mlir --grad --verify --quiet --rematerialize selective %}
// RUN: %if nightly %{ tpsp-run %examples/gpt-block-tp.mlir --grad --verify --quiet --rematerialize full %}
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --verify --quiet --rematerialize selective
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --verify --quiet --rematerialize full
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --verify --quiet --keep-gathered
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --verify --quiet --mesh tp=1 --rematerialize full --keep-gathered

// With dropout: redone with the same masks.
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --verify --quiet
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --verify --quiet --rematerialize selective
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --verify --quiet --rematerialize full
// RUN: %if nightly %{ tpsp-run %examples/gpt-block-dropout.mlir --grad --verify --quiet --keep-masks %}
// RUN: %if nightly %{ tpsp-run %examples/gpt-block-dropout.mlir --grad --verify --quiet --keep-masks --rematerialize selective %}
// RUN: tpsp-run %examples/gpt-block-dropout.mlir --grad --verify --quiet --keep-masks --rematerialize full

// The sum stands in the table too.
// RUN: tpsp-run %examples/mlp-sp.mlir --grad | FileCheck %s --check-prefix=TABLE
// RUN: tpsp-run %examples/mlp-sp.mlir | FileCheck %s --check-prefix=FORWARD
// TABLE: Memory per rank
// TABLE: peak
// TABLE-NEXT: {{^}}  saved           576.0 KiB  (of the above, for backward){{$}}
// FORWARD: Memory per rank
// FORWARD-NOT: saved

// Two layers written as calls, in all modes: saved bytes, collectives and the
// memory of the run. A layer keeps its input alone under "full", which redoes the
// reduce-scatter in its middle.
// DEFINE: %{layers} = tpsp-run %S/Inputs/two-layers.mlir --grad --verify --quiet
// RUN: %{layers} --report %t.none
// RUN: %{layers} --rematerialize selective --report %t.selective
// RUN: %{layers} --rematerialize full --report %t.full
// RUN: %{layers} --keep-gathered --report %t.gathered
// RUN: python3 %S/Inputs/check-saved.py %t.none %t.selective %t.full %t.gathered
