// An index that is broadcast to and summed over again within one kernel: no
// tensor that the kernel reads or writes has it. (A kernel of fewer than 64 work
// items would not take the sum in.)
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet
// RUN: tpsp-run %s --dtype bf16 --grad --verify --quiet

tpsp.mesh @mesh <tp = 2>

!x = tensor<128x6xf32, #tpsp.idx<b@tp, d>>
!y = tensor<3x128x5x6xf32, #tpsp.idx<c, b, a, d, ?>>
func.func @f(%x: !x) -> !x {
  %wide = tpsp.broadcast %x : (!x) -> !y
  %y = tpsp.gelu %wide : (!y) -> !y
  %z = tpsp.reduce %y {kind = "sum"} : (!y) -> !x
  return %z : !x
}
