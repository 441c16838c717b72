// What a norm or a softmax makes of a row is in f32, wherever it is stored. Of a
// tensor that is a single row the sum of squares is, which is beyond f16 here.
// Where padding takes them apart, ranks add up f32, and maxima are of 16 bits.
// What is moved besides is, too.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: tpsp-run %t/norms.mlir --grad --verify --quiet
// RUN: tpsp-run %t/norms.mlir --grad --verify --quiet --mesh tp=1
// RUN: sed 's/f16/bf16/' %t/norms.mlir > %t/bf16.mlir
// RUN: tpsp-run %t/bf16.mlir --grad --verify --quiet
// RUN: tpsp-run %t/norms.mlir --grad --verify --quiet --mesh tp=4 --pad d=4,c=4
// RUN: tpsp-run %t/norms.mlir --mesh tp=4 --pad d=4,c=4 | FileCheck %s
// CHECK: all_reduce {{ *}}tp {{ *}}6 B {{ *}}0.reduce {{.*}}
// CHECK: all_reduce {{ *}}tp {{ *}}6 B {{ *}}1.reduce {{.*}}
// CHECK: all_reduce {{ *}}tp {{ *}}6 B {{ *}}1.reduce2
// CHECK: all_reduce {{ *}}tp {{ *}}9 B {{ *}}2.reduce {{.*}}
// CHECK: all_reduce {{ *}}tp {{ *}}18 B {{ *}}2.reduce2
// CHECK: all_gather {{ *}}tp {{ *}}c {{ *}}36 B {{ *}}2 {{ *}}@tp

// No row is stored in f32 for it: a kernel in each pass.
// RUN: tpsp-run %t/softmax.mlir --grad --backend trace --dtype bf16 > %t/trace.txt
// RUN: grep -c 'rank 0 .* kernel ' %t/trace.txt | FileCheck %s --check-prefix=KERNELS
// KERNELS: {{^}}2{{$}}

//--- norms.mlir
tpsp.program f16 <b = 3, c = 5, d = 37> {
mesh @mesh <tp = 5>
func @f(%x: [c@tp, d] {tpsp.mean = 40.0, tpsp.deviation = 60.0}, param %gain, %bias: [c, d],
        %y: [b, c@tp] {tpsp.deviation = 90.0}) -> ([c, d], [c, d], [b, c], [b, c]) {
  %0 = rms_norm %x, %gain
  %1 = layer_norm %x, %gain, %bias
  %2 = softmax %y {over = "c", scale = 0.01}
  %3 = softmax %y {over = "b", scale = 0.01}
  return %0, %1, %2, %3
}
}

//--- softmax.mlir
tpsp.program <b = 8, s = 64, t = 64> {
func @f(%x: [b, s, t]) -> [b, s, t] {
  %y = softmax %x {over = "t", scale = 0.1}
  return %y
}
}
