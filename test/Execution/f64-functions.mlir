// Functions that f64 computes otherwise than f32: rotations are not narrowed,
// and erf, for which LLVM has no intrinsic, is libm's.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function rotate --grad --verify --quiet
// RUN: tpsp-run %s --function rotate --grad --dtype f32 --verify --quiet
// RUN: tpsp-run %s --function rotate_one --grad --verify --quiet
// RUN: tpsp-run %s --function gelu_erf --grad --verify --quiet

tpsp.mesh @mesh <tp = 2 : model>

!x = tensor<6x4xf64, #tpsp.idx<s@tp, k>>
func.func @rotate(%x: !x) -> !x {
  %y = tpsp.rope %x {position = "s", feature = "k"} : !x
  return %y : !x
}

// A single pair, for which no library's product is used.
func.func @rotate_one(%x: tensor<2x1xf64, #tpsp.idx<k, s>>) -> tensor<2x1xf64, #tpsp.idx<k, s>> {
  %y = tpsp.rope %x {position = "s", feature = "k"} : tensor<2x1xf64, #tpsp.idx<k, s>>
  return %y : tensor<2x1xf64, #tpsp.idx<k, s>>
}

func.func @gelu_erf(%x: !x) -> !x {
  %y = tpsp.gelu_erf %x : !x
  return %y : !x
}
