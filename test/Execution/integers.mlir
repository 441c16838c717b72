// Lookups, writes and choices over odd extents, with the selected index, the rows
// and the columns sharded.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --mesh a=1 --grad --verify --quiet
// RUN: tpsp-run %s --mesh a=3 --grad --verify --quiet
// RUN: sed 's/v@a, d/v, d@a/' %s > %t.columns.mlir
// RUN: tpsp-run %t.columns.mlir --mesh a=3 --grad --verify --quiet
// RUN: sed 's/<v@a, d>/<v, d>/; s/n@a, s/n, s@a/; s/<v, n, c, d, ?>/<v, n, c, d>/' %s > %t.rows.mlir
// RUN: tpsp-run %t.rows.mlir --mesh a=3 --grad --verify --quiet

tpsp.mesh @mesh <a = 3 : model>
!ids = tensor<3x9xi32, #tpsp.idx<n@a, s>>
!w = tensor<33x15xf32, #tpsp.idx<v@a, d>>
!x = tensor<3x9x15xf32, #tpsp.idx<n, s, d, ?>>
!l = tensor<3x9x33xf32, #tpsp.idx<n, s, v, ?>>
!k = tensor<3x9x5xi32, #tpsp.idx<n, s, k, ?>>
!p = tensor<3x9x5xf32, #tpsp.idx<n, s, k, ?>>
!c = tensor<3x9x5xi32, #tpsp.idx<n, s, k, ?>>
!y = tensor<33x3x2x15xf32, #tpsp.idx<v, n, c, d, ?>>
!loss = tensor<f32, #tpsp.idx<>>
!o = tensor<3x9x15xf32, #tpsp.idx<n, s, d>>
func.func @f(%ids: !ids, %others: !ids, %isFirst: tensor<3x9xf32, #tpsp.idx<n@a, s>>, %w: !w {tpsp.param}) -> (!loss, !o, !x) {
  %x = tpsp.embedding %ids, %w {vocabulary = "v"} : (!ids, !w) -> !x
  %l = tpsp.einsum %w, %x : (!w, !x) -> !l
  %t = tpsp.cross_entropy %l, %ids {over = "v"} : (!l, !ids) -> tensor<3x9xf32, #tpsp.idx<n, s, ?>>
  %m = tpsp.mean %t : (tensor<3x9xf32, #tpsp.idx<n, s, ?>>) -> !loss
  %k = tpsp.router %l {expert = "v", choice = "k"} : (!l) -> !k
  %b = tpsp.one_hot_einsum %k, %l {indices = ["v"]} : (!k, !l) -> !p
  %p = tpsp.softmax %b {over = "k"} : !p
  %y = tpsp.dispatch %k, %x {expert = "v", slot = "c", choice = "k"} : (!k, !x) -> !y
  %g = tpsp.gelu %y : !y
  %z = tpsp.combine %k, %p, %g {expert = "v", slot = "c", choice = "k"} : (!k, !p, !y) -> !o
  %not0 = tpsp.relu %isFirst : tensor<3x9xf32, #tpsp.idx<n@a, s>>
  %selected = tpsp.select %not0, %ids, %others : (tensor<3x9xf32, #tpsp.idx<n@a, s>>, !ids, !ids) -> !ids
  %r = tpsp.embedding %selected, %w {vocabulary = "v"} : (!ids, !w) -> !x
  return %m, %z, %r : !loss, !o, !x
}
