// RUN: tpsp-opt %s --split-input-file --verify-diagnostics --tpsp-micro-batch=micro-batches=4

// Micro-batches are cut of whole tensors.

tpsp.mesh @mesh <dp = 4 : data>
!x = tensor<2x8xf32, #tpsp.idx<b@dp, d, local>>
// expected-error@+1 {{argument #0 is one rank's part already ('local'); micro-batches are cut of whole tensors: run tpsp-micro-batch before tpsp-partition}}
func.func @f(%x: !x) -> !x {
  %y = tpsp.gelu %x : !x
  return %y : !x
}

// -----

// An index of no positions has no parts, and no count of parts fits it.

tpsp.mesh @mesh <dp = 1 : data>
// expected-error@+1 {{argument #0 has index 'b' of extent 0, which 1 shards of 4 micro-batches do not divide}}
func.func @f(%x: tensor<0x8xf32, #tpsp.idx<b, d>>) {
  return
}
