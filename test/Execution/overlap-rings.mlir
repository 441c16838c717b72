// Gathers around a ring, tile by tile: every product takes the tile that has
// arrived. On more than two ranks a wrong tile is a wrong number.
//
// RUN: python3 %S/Inputs/ring-machine.py %S/../../hardware/cpu.json > %t.json
// RUN: tpsp-opt %examples/gpt-block-sp.mlir \
// RUN:   "--tpsp-pipeline=grad overlap=on overlap-chunks=2 hardware=%t.json" \
// RUN:   | FileCheck %s --check-prefix=RING
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --verify --overlap on \
// RUN:   --overlap-chunks 2 --hardware %t.json | FileCheck %s
// RUN: tpsp-opt %examples/tp-sp.mlir \
// RUN:   "--tpsp-pipeline=grad overlap=on overlap-chunks=2 hardware=%t.json" \
// RUN:   | FileCheck %s --check-prefix=RING
// RUN: tpsp-run %examples/tp-sp.mlir --grad --verify --overlap on \
// RUN:   --overlap-chunks 2 --hardware %t.json | FileCheck %s
// RUN: tpsp-opt %examples/cp-attention.mlir \
// RUN:   "--tpsp-pipeline=grad overlap=on overlap-chunks=2 hardware=%t.json" \
// RUN:   | FileCheck %s --check-prefix=RING
// RUN: tpsp-run %examples/cp-attention.mlir --grad --verify --overlap on \
// RUN:   --overlap-chunks 2 --hardware %t.json | FileCheck %s
//
// Tiles come in two parts, so three other tiles are six hops.
// RING: part = 1 : i64, parts = 2 : i64
// RING-COUNT-6: plan.permute
// CHECK: all within tolerance
