// Every pointwise operation and its gradient in kernels, on parts of tensors.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --function unary --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --function unary --mesh tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --function unary --mesh tp=2 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --function unary --mesh tp=2 --dtype f16 --grad --verify --quiet
// RUN: tpsp-run %s --function several --mesh tp=1 --grad --verify --quiet
// RUN: tpsp-run %s --function several --mesh tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --function several --mesh tp=2 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --function several --mesh tp=2 --dtype f16 --grad --verify --quiet
// RUN: tpsp-run %s --function slopes --mesh tp=1 --verify --quiet
// RUN: tpsp-run %s --function slopes --mesh tp=2 --verify --quiet
// RUN: tpsp-run %s --function extremes --mesh tp=1 --grad --verify --quiet

tpsp.mesh @mesh <tp = 1 : model>

!x = tensor<6x7xf32, #tpsp.idx<s@tp, d>>

func.func @unary(%x: !x) -> (!x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x) {
  // Away from 0, for functions with a pole there.
  %sq = tpsp.square %x : !x
  %positive = tpsp.shift %sq {by = 0.5} : !x
  %neg = tpsp.neg %x : !x
  %exp = tpsp.exp %x : !x
  %log = tpsp.log %positive : !x
  %tanh = tpsp.tanh %x : !x
  %sqrt = tpsp.sqrt %positive : !x
  %rsqrt = tpsp.rsqrt %positive : !x
  %square = tpsp.square %x : !x
  %sigmoid = tpsp.sigmoid %x : !x
  %relu = tpsp.relu %x : !x
  %silu = tpsp.silu %x : !x
  %gelu = tpsp.gelu %x : !x
  %gelu_erf = tpsp.gelu_erf %x : !x
  return %neg, %exp, %log, %tanh, %sqrt, %rsqrt, %square, %sigmoid, %relu, %silu, %gelu, %gelu_erf
    : !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x
}

// The slopes themselves, as the backward pass uses them.
func.func @slopes(%x: !x) -> (!x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x) {
  %sq = tpsp.square %x : !x
  %positive = tpsp.shift %sq {by = 0.5} : !x
  %neg = tpsp.slope %x {of = "neg"} : !x
  %exp = tpsp.slope %x {of = "exp"} : !x
  %log = tpsp.slope %positive {of = "log"} : !x
  %tanh = tpsp.slope %x {of = "tanh"} : !x
  %sqrt = tpsp.slope %positive {of = "sqrt"} : !x
  %rsqrt = tpsp.slope %positive {of = "rsqrt"} : !x
  %square = tpsp.slope %x {of = "square"} : !x
  %sigmoid = tpsp.slope %x {of = "sigmoid"} : !x
  %relu = tpsp.slope %x {of = "relu"} : !x
  %silu = tpsp.slope %x {of = "silu"} : !x
  %gelu = tpsp.slope %x {of = "gelu"} : !x
  %gelu_erf = tpsp.slope %x {of = "gelu_erf"} : !x
  return %neg, %exp, %log, %tanh, %sqrt, %rsqrt, %square, %sigmoid, %relu, %silu, %gelu, %gelu_erf
    : !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x, !x
}

// Several operands, with broadcasts by name from either side.
!d = tensor<7xf32, #tpsp.idx<d>>
!s = tensor<6xf32, #tpsp.idx<s@tp>>
!o = tensor<7x6xf32, #tpsp.idx<d, s@tp>>
func.func @several(%x: !x, %y: !x, %d: !d {tpsp.param = "d"}, %s: !s {tpsp.param = "s"}, %o: !o)
    -> (!x, !x, !x, !x, !x, !x, !s, !o) {
  %add = tpsp.add %x, %d, %s, %y : (!x, !d, !s, !x) -> !x
  %sub = tpsp.sub %s, %x : (!s, !x) -> !x
  %mul = tpsp.mul %d, %y : (!d, !x) -> !x
  %div = tpsp.div %x, %d : (!x, !d) -> !x
  %outer = tpsp.mul %s, %d : (!s, !d) -> !x
  %wide = tpsp.broadcast %s : !s -> !x
  %sum = tpsp.reduce %mul : !x -> !s
  // The same indices in another order.
  %turned = tpsp.mul %x, %o : (!x, !o) -> !o
  return %add, %sub, %mul, %div, %outer, %wide, %sum, %turned
    : !x, !x, !x, !x, !x, !x, !s, !o
}

// Large arguments of either sign, for which a naive formula overflows.
func.func @extremes(%x: !x) -> (!x, !x, !x, !x, !x, !x, !x) {
  %big = tpsp.scale %x {factor = 60.0} : !x
  %tanh = tpsp.tanh %big : !x
  %sigmoid = tpsp.sigmoid %big : !x
  %silu = tpsp.silu %big : !x
  %softplus = tpsp.softplus %big : !x
  %gelu = tpsp.gelu %big : !x
  %gelu_erf = tpsp.gelu_erf %big : !x
  %softmax = tpsp.softmax %big {over = "d"} : !x
  return %tanh, %sigmoid, %silu, %softplus, %gelu, %gelu_erf, %softmax
    : !x, !x, !x, !x, !x, !x, !x
}

// With bounds that some elements exceed, and in mixed precision.
// RUN: tpsp-run %s --function larger --mesh tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --function bounded --mesh tp=2 --grad --verify --quiet
// RUN: tpsp-run %s --function bounded --mesh tp=2 --dtype bf16 --grad --verify --quiet
// RUN: tpsp-run %s --function rounded --mesh tp=2 --grad --verify --quiet
!half = tensor<6x7xbf16, #tpsp.idx<s@tp, d>>
func.func @larger(%x: !x, %s: !s) -> !x {
  %y = tpsp.max %s, %x : (!s, !x) -> !x
  return %y : !x
}
func.func @bounded(%x: !x) -> (!x, !x, !x, !x, !x) {
  %low = tpsp.clamp %x {low = 0.1} : !x
  %high = tpsp.clamp %x {high = -0.1} : !x
  %both = tpsp.clamp %x {low = -0.4, high = 0.5} : !x
  %sin = tpsp.sin %x : !x
  %cos = tpsp.cos %x : !x
  return %low, %high, %both, %sin, %cos : !x, !x, !x, !x, !x
}
func.func @rounded(%x: !half) -> !x {
  %wide = tpsp.convert %x : !half -> !x
  %y = tpsp.square %wide : !x
  return %y : !x
}
