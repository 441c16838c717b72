// Types in attributes are notes of other tools. They may have indices that the program lacks, other
// extents, and constants. Passes that change the program's types leave them alone.
// RUN: tpsp-opt %s --tpsp-set-extents=extent=b=4 | FileCheck %s --check-prefixes=NOTES,EXTENTS
// RUN: tpsp-opt %s --tpsp-set-element-type=dtype=bf16 | FileCheck %s --check-prefixes=NOTES,ELEMENTS
// RUN: tpsp-opt %s --tpsp-set-padding=pad=b=3 --tpsp-pad-extents | FileCheck %s --check-prefixes=NOTES,PADDED
// RUN: not tpsp-opt %s --tpsp-set-extents=extent=q=4 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: tpsp-opt %s --tpsp-explain | FileCheck %s --check-prefix=EXPLAINED
// RUN: tpsp-opt %s --tpsp-formulas | FileCheck %s --check-prefix=FORMULAS
// RUN: tpsp-opt %s --tpsp-pipeline=grad=true -o /dev/null

// UNKNOWN: error: the program has no index 'q'; its indices are b, d{{$}}
// EXPLAINED: y[b, d] = gelu(x[b, d]
// FORMULAS: b d

// NOTES: module attributes
// NOTES-SAME: x.constant = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32, #tpsp.idx<b>>
// NOTES-SAME: x.type = tensor<4xf32, #tpsp.idx<q>>
// NOTES: func.func private @elsewhere(tensor<
// EXTENTS-SAME: 4x8xf32
// ELEMENTS-SAME: 2x8xbf16
// PADDED-SAME: 3x8xf32
// NOTES: func.func @f(%{{.*}}: tensor<
// EXTENTS-SAME: 4x8xf32
// ELEMENTS-SAME: 2x8xbf16
// PADDED-SAME: 3x8xf32
// NOTES-SAME: x.type = tensor<4x2xf32, #tpsp.idx<q, b>>
// NOTES-SAME: attributes {x.type = [tensor<2xf32, #tpsp.idx<r>>, {u = tensor<2xf32, #tpsp.idx<b>>}]}
// NOTES: tpsp.gelu %{{.*}} {x.type = (tensor<2xf32, #tpsp.idx<r>>) -> tensor<2xf32, #tpsp.idx<b>>}
module attributes {x.constant = dense<[1.0, 2.0]> : tensor<2xf32, #tpsp.idx<b>>,
                   x.type = tensor<4xf32, #tpsp.idx<q>>} {
  func.func private @elsewhere(tensor<2x8xf32, #tpsp.idx<b, d>>)
  func.func @f(%x: tensor<2x8xf32, #tpsp.idx<b, d>> {x.type = tensor<4x2xf32, #tpsp.idx<q, b>>})
      -> tensor<2x8xf32, #tpsp.idx<b, d>>
      attributes {x.type = [tensor<2xf32, #tpsp.idx<r>>, {u = tensor<2xf32, #tpsp.idx<b>>}]} {
    %y = tpsp.gelu %x {x.type = (tensor<2xf32, #tpsp.idx<r>>) -> tensor<2xf32, #tpsp.idx<b>>} : tensor<2x8xf32, #tpsp.idx<b, d>>
    return %y : tensor<2x8xf32, #tpsp.idx<b, d>>
  }
}
