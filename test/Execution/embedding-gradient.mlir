// Thousands of tokens are one of two words. Their gradients are added in f32 in
// any storage type, also on a sharded vocabulary.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --verify --quiet --dtype bf16
// RUN: tpsp-run %s --grad --verify --quiet --dtype f16
// RUN: tpsp-run %s --grad --verify --quiet --mesh dp=2
// RUN: sed 's/<v, d>/<v@dp, d>/' %s > %t.mlir
// RUN: tpsp-run %t.mlir --mesh dp=2 --grad --verify --quiet --dtype bf16

tpsp.mesh @mesh <dp = 1 : data>
!ids = tensor<4x8192xi32, #tpsp.idx<b@dp, s>>
!w = tensor<2x24xf32, #tpsp.idx<v, d>>
!z = tensor<4x8192x24xf32, #tpsp.idx<b@dp, s, d>>
func.func @f(%ids: !ids {tpsp.name = "ids"}, %w: !w {tpsp.param = "w"}) -> !z {
  %z = tpsp.embedding %ids, %w {vocabulary = "v"} : (!ids, !w) -> !z
  return %z : !z
}
