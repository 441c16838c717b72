// Functions of f32 are right for every number of the type: angles of any size,
// denormal numbers, and values that are denormal.
// REQUIRES: tpsp-run
// RUN: split-file %s %t
// RUN: python3 %S/Inputs/values.py write %t/angles.npy 1e5 -1e8 1e30 3.4e38 -12345.678 65535 inf -0.0
// RUN: python3 %S/Inputs/values.py write %t/small.npy 1e-45 1e-40 0 inf -0.0 1 -1 nan
// RUN: python3 %S/Inputs/values.py write %t/low.npy -100 -103 -104 -inf 89 inf 0 nan
// DEFINE: %{run} = tpsp-run %t/program.mlir --inputs angle=%t/angles.npy --inputs small=%t/small.npy --inputs low=%t/low.npy --quiet --save-all %t/all.safetensors
// DEFINE: %{angles} = sin=0.03574879840016365,-0.9316390156745911,-0.791163444519043,-0.24408487975597382,0.7042698860168457,0.9813275337219238,nan,-0.0 cos=-0.9993607997894287,-0.36338508129119873,-0.6116048097610474,0.9697538614273071,0.7099323272705078,0.19234402477741241,nan,1
// DEFINE: %{log} = log=-103.2789306640625,-92.10340881347656,-inf,inf,-inf,0,nan,nan
// DEFINE: %{exp} = exp=3.783505853677006e-44,1.401298464324817e-45,0,0,inf,inf,1,nan
// DEFINE: %{check} = python3 %S/Inputs/values.py check %t/all.safetensors %{angles} %{log} %{exp}
// RUN: %{run} --mesh dp=1 && %{check}
// RUN: %{run} --mesh dp=2 && %{check}

// Positions of a long sequence, and angles next to a much larger tensor.
// RUN: tpsp-run %t/positions.mlir --verify --grad --mesh dp=2 --quiet
// RUN: tpsp-run %t/positions.mlir --verify --mesh dp=2 --dtype bf16 --quiet
// RUN: python3 %S/Inputs/values.py write %t/8.npy 1e8 1e8 1e8 1e8 1e8 1e8 1e8 1e8
// RUN: tpsp-run %t/beside.mlir --inputs x=%t/8.npy --quiet --save-all %t/all.safetensors
// RUN: python3 %S/Inputs/values.py check %t/all.safetensors sin=0.9316390156745911 cos=-0.36338508129119873

// The exact GELU keeps its digits far below 0, and so does its slope.
// RUN: tpsp-run %t/gelu.mlir --verify --grad --mesh dp=1 --quiet
// RUN: tpsp-run %t/gelu.mlir --verify --grad --mesh dp=2 --dtype bf16 --quiet
// RUN: tpsp-run %t/gelu.mlir --verify --grad --mesh dp=2 --dtype f64 --quiet

// Errors of a chain do not add up to one side.
// RUN: python3 %S/Inputs/chain.py tanh 250 > %t/tanh.mlir
// RUN: tpsp-run %t/tanh.mlir --verify --quiet
// RUN: tpsp-run %t/tanh.mlir --verify --quiet --mesh dp=2 --dtype f64
// RUN: python3 %S/Inputs/chain.py sin 250 > %t/sin.mlir
// RUN: tpsp-run %t/sin.mlir --verify --quiet --mesh dp=2

//--- program.mlir
tpsp.program <d = 8> {
mesh @mesh <dp = 1 : data>
func @f(%angle: [d@dp], %small: [d@dp], %low: [d@dp]) -> ([d@dp] {tpsp.name = "sin"}, [d@dp] {tpsp.name = "cos"}, [d@dp] {tpsp.name = "log"}, [d@dp] {tpsp.name = "exp"}) {
  %sin = sin %angle
  %cos = cos %angle
  %log = log %small
  %exp = exp %low
  return %sin, %cos, %log, %exp
}
}

//--- positions.mlir
tpsp.program <s = 65536, k = 4> {
mesh @mesh <dp = 1 : data>
func @f(%x: [s@dp, k]) -> [s@dp, k] {
  %i = iota {index = "s"} -> [s@dp]
  %z = sin %i
  %y = mul %x, %z
  return %y
}
}

//--- beside.mlir
tpsp.program <d = 8> {
func @f(%x: [d]) -> ([d] {tpsp.name = "sin"}, [d] {tpsp.name = "cos"}, [d] {tpsp.name = "square"}) {
  %sin = sin %x
  %cos = cos %x
  %square = square %x
  return %sin, %cos, %square
}
}

//--- gelu.mlir
tpsp.program <d = 64> {
mesh @mesh <dp = 1 : data>
func @f(%x: [d@dp]) -> ([d@dp], [d@dp], [d@dp]) {
  %three = shift %x {by = -3.0}
  %six = shift %x {by = -6.0}
  %nine = shift %x {by = -9.0}
  %a = gelu_erf %three
  %b = gelu_erf %six
  %c = gelu_erf %nine
  return %a, %b, %c
}
}
