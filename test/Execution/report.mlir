// The report: documented keys, sums that agree, and no transpose copies in any
// of the examples.
// REQUIRES: tpsp-run
// DEFINE: %{report} = --grad --verify --steps 2 --quiet --report %t.json

// RUN: tpsp-run %examples/mlp-tp.mlir %{report}
// RUN: python3 %S/Inputs/check-report.py %t.json
// RUN: tpsp-run %examples/mlp-sp.mlir %{report}
// RUN: python3 %S/Inputs/check-report.py %t.json
// RUN: tpsp-run %examples/gpt-block-tp.mlir %{report}
// RUN: python3 %S/Inputs/check-report.py %t.json
// RUN: tpsp-run %examples/gpt-block-sp.mlir %{report}
// RUN: python3 %S/Inputs/check-report.py %t.json

// A step with its update.
// RUN: tpsp-run %examples/ddp.mlir --optimizer adamw --optimizer-axes dp %{report}
// RUN: python3 %S/Inputs/check-report.py %t.json

// On one rank there are no collectives.
// RUN: tpsp-run %examples/mlp-sp.mlir --mesh tp=1 %{report}
// RUN: python3 %S/Inputs/check-report.py %t.json
// RUN: FileCheck %s --check-prefix=ALONE --input-file %t.json
// ALONE: "collectives": []

// RUN: tpsp-run %examples/mlp-sp.mlir --report %t.json --quiet --dtype bf16
// RUN: FileCheck %s --check-prefix=FORWARD --input-file %t.json
// FORWARD: "program": "mlp"
// FORWARD: "dtype": "bf16"
// FORWARD: "backward": {}
// FORWARD: "verify": null
