// Only sums may be reordered, and only an einsum's products fused with them.
// All flags in LLVM are checked, forward and backward, in f32 and in bf16.
// RUN: tpsp-opt %s --tpsp-pipeline=grad=true --tpsp-llvm-pipeline > %t
// RUN: grep -o "llvm\.f[a-z]* .*fastmath<.*>" %t | sed "s/%[A-Za-z0-9_]*//g" | sort -u | FileCheck %s
// RUN: tpsp-opt %s --tpsp-set-element-type=dtype=bf16 --tpsp-pipeline=grad=true --tpsp-llvm-pipeline > %t
// RUN: grep -o "llvm\.f[a-z]* .*fastmath<.*>" %t | sed "s/%[A-Za-z0-9_]*//g" | sort -u | FileCheck %s
// RUN: tpsp-opt %s --tpsp-pipeline="grad=true device=cuda" --tpsp-lower-kernel-math > %t
// RUN: grep -o "arith\.[a-z]* .*fastmath<.*>" %t | sed "s/%[A-Za-z0-9_]*//g" | sort -u | FileCheck %s --check-prefix=DEVICE

// CHECK: llvm.fadd , {fastmathFlags = #llvm.fastmath<contract, reassoc>
// CHECK-NEXT: llvm.fmul , {fastmathFlags = #llvm.fastmath<contract>
// CHECK-NOT: {{.}}
// DEVICE: arith.addf , fastmath<reassoc,contract>
// DEVICE-NEXT: arith.mulf , fastmath<contract>
// DEVICE-NOT: {{.}}

tpsp.program <s = 6, d = 40, k = 8> {
mesh @mesh <tp = 2 : model>
func @f(%x: [s@tp, d], param %w: [d], %c: [s@tp, d, k]) -> ([s@tp, d], [s@tp], [s@tp, d], [s@tp, k]) {
  %m = mul %x, %w
  %n = sub %m, %x
  %e = exp %n
  %t = tanh %e
  %g = gelu %t
  %h = gelu_erf %g
  %l = softplus %h
  %r = reduce %l -> [s@tp]
  %v = reduce %l {kind = "max"} -> [s@tp]
  %stop = stop_gradient %v
  %u = add %r, %stop
  %z = rms_norm %l, %w
  %i = sin %z
  %a = softmax %i {over = "d"}
  %p = einsum %a, %c -> [s@tp, k]
  return %l, %u, %a, %p
}
}
