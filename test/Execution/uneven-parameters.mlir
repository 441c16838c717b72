// Operations on parameters that are cut as rows of elements (decision 0035):
// those that work element by element run on pieces, and others on the gathered
// tensor, whatever they do with positions.
// REQUIRES: tpsp-run
// DEFINE: %{run} = tpsp-run %t.mlir --grad --optimizer adamw --clip 1 --steps 2 --verify --quiet
// RUN: sed 's/OPERATION/delay %%w {index = "s", by = 1}/' %s > %t.mlir && %{run} && %{run} --mesh dp=4 --extent b=8
// RUN: sed 's/OPERATION/cumsum %%w {index = "s"}/' %s > %t.mlir && %{run}
// RUN: sed 's/OPERATION/softmax %%w {over = "s"}/' %s > %t.mlir && %{run}
// RUN: sed 's/OPERATION/rms_norm %%w, %%gain/' %s > %t.mlir && %{run}
// RUN: sed 's/OPERATION/scale %%w {factor = 2.0}/' %s > %t.mlir && %{run} && %{run} --mesh dp=5 --extent b=5

// Several axes, of which some divide the parameter and some cut it.
// RUN: rm -rf %t.axes && mkdir %t.axes && python3 %S/Inputs/uneven-axes.py tpsp-run %t.axes | FileCheck %s
// CHECK: 19 right

tpsp.program <b = 6, s = 7, d = 5> {
mesh @mesh <dp = 3 : data>
func @m(%x: [b@dp, s, d], param %w: [s@dp, d], param %v: [s@dp, d], param %gain: [d]) -> [] {
  %l = OPERATION
  %g = gelu %v
  %p = mul %l, %g
  %q = mul %p, %gain
  %u = mul %x, %q -> [b@dp, s, d]
  %loss = mean %u -> []
  return %loss
}
}
