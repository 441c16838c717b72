// A program is computed as it is written: nothing is reordered or fused, and a
// zero keeps its sign. tpsp may order only sums.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: python3 %S/Inputs/values.py write %t/x.npy inf -inf 0.25 -0.0 1.4e7 -2.5 3.0 1e-30
// RUN: python3 %S/Inputs/values.py write %t/y.npy 1 0 1.25 -0.0 2 0.5 -0.0 0
// DEFINE: %{run} = tpsp-run %t/program.mlir --inputs x=%t/x.npy --inputs y=%t/y.npy --quiet --save-all %t/all.safetensors
// DEFINE: %{check} = python3 %S/Inputs/values.py check %t/all.safetensors less=nan,nan,0,0,0,0,0,0 same=0,0,1,1,1,1,1,1

// Near 1e7, f32 has whole numbers.
// RUN: %{run} --mesh dp=1 && %{check} back=inf,-inf,0,0,1.4e7,-2,3,0 plus=inf,-inf,0.25,0,1.4e7,-2.5,3,1e-30 sum=inf,-inf,1.5,-0.0,14000002,-2,3,1e-30
// RUN: %{run} --mesh dp=2 && %{check} back=inf,-inf,0,0,1.4e7,-2,3,0 plus=inf,-inf,0.25,0,1.4e7,-2.5,3,1e-30 sum=inf,-inf,1.5,-0.0,14000002,-2,3,1e-30
// RUN: %{run} --mesh dp=2 --dtype bf16 && %{check}
// RUN: %{run} --mesh dp=2 --dtype f64 && %{check} sum=inf,-inf,1.5,-0.0,14000002,-2,3,1.0000000031710769e-30

// The product is rounded before the other is subtracted, in the next operation
// and in the sum of it: fused, the rest would be 7e-10.
// RUN: python3 %S/Inputs/values.py write %t/a.npy 0.1 0.1 0.7 0.7
// RUN: python3 %S/Inputs/values.py write %t/b.npy 0.1 0.1 0.3 0.3
// RUN: python3 %S/Inputs/values.py write %t/c.npy 0.010000000707805157 0.010000000707805157 0.21000000834465027 0.21000000834465027
// RUN: tpsp-run %t/products.mlir --inputs a=%t/a.npy --inputs b=%t/b.npy --inputs c=%t/c.npy --quiet --save-all %t/all.safetensors
// RUN: python3 %S/Inputs/values.py check %t/all.safetensors rest=0 all=0

//--- program.mlir
tpsp.program <d = 8> {
mesh @mesh <dp = 1 : data>
func @f(%x: [d@dp], %y: [d@dp]) -> ([d@dp] {tpsp.name = "less"}, [d@dp] {tpsp.name = "same"}, [d@dp] {tpsp.name = "back"}, [d@dp] {tpsp.name = "plus"}, [d@dp] {tpsp.name = "sum"}) {
  %half = scale %x {factor = 0.5}
  %less = sub %half, %half
  %same = compare %less, %less {is = "equal"}
  %up = shift %x {by = 1e7}
  %back = shift %up {by = -1e7}
  %plus = shift %x {by = 0.0}
  %sum = add %x, %y
  return %less, %same, %back, %plus, %sum
}
}

//--- products.mlir
tpsp.program <d = 4> {
func @f(%a: [d], %b: [d], %c: [d]) -> ([d] {tpsp.name = "rest"}, [] {tpsp.name = "all"}) {
  %product = mul %a, %b
  %rest = sub %product, %c
  %all = reduce %rest -> []
  return %rest, %all
}
}
