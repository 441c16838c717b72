// Products whose rows do not begin at multiples of 16 bytes are predicted at the
// rate measured for such rows. In bf16 an odd vocabulary begins at multiples of 2,
// four words more than a multiple of eight at multiples of 8.
// RUN: python3 %S/Inputs/aligned.py > %t.json
// RUN: tpsp-run %s --dtype bf16 --simulate --hardware %t.json | FileCheck %s --check-prefix=WHOLE
// RUN: tpsp-run %s --dtype bf16 --simulate --hardware %t.json --extent v=4097 | FileCheck %s --check-prefix=ODD
// RUN: tpsp-run %s --dtype bf16 --simulate --hardware %t.json --extent v=4100 | FileCheck %s --check-prefix=FOURS
// RUN: tpsp-run %s --dtype bf16 --simulate --hardware %t.json --extent v=4097 --pad v=8 | FileCheck %s --check-prefix=WHOLE
// RUN: tpsp-run %s --dtype f32 --simulate --hardware %t.json --extent v=4100 | FileCheck %s --check-prefix=WIDE
// WHOLE: matmul x1 {{19[0-9]}} µs
// ODD: matmul x1 1.5{{[0-9]}} ms
// FOURS: matmul x1 39{{[0-9]}} µs
// WIDE: matmul x1 2.8{{[0-9]}} ms

tpsp.program <s = 4096, d = 4096, v = 4096> {
mesh @mesh <tp = 1 : model>
func @f(%x: [s, d], param %w: [v, d]) -> [s, v] {
  %y = einsum %x, %w -> [s, v]
  return %y
}
}
