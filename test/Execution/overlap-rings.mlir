// Gathers that go around a ring, tile by tile: every product takes the tile
// that has come. On more than two ranks a wrong tile is a wrong number.
//
// RUN: tpsp-opt %examples/gpt-block-sp.mlir \
// RUN:   "--tpsp-pipeline=grad overlap overlap-chunks=2" \
// RUN:   | FileCheck %s --check-prefix=RING
// RUN: tpsp-run %examples/gpt-block-sp.mlir --grad --verify \
// RUN:   --overlap on --overlap-chunks 2 | FileCheck %s
// RUN: tpsp-run %examples/tp-sp.mlir --grad --verify \
// RUN:   --overlap on --overlap-chunks 2 | FileCheck %s
// RUN: tpsp-run %examples/cp-attention.mlir --grad --verify \
// RUN:   --overlap on --overlap-chunks 2 | FileCheck %s
//
// RING-COUNT-3: plan.permute
// CHECK: all within tolerance
