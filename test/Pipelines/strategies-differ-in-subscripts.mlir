// The strategies are one program: behind the mesh, and without axes, their
// examples are the same text.
// DEFINE: %{plain} = sed -e '1,/tpsp.mesh/d' -e '/tpsp.idx/s/@[a-z]*//g'
// RUN: %{plain} %examples/ddp.mlir > %t.ddp
// RUN: %{plain} %examples/fsdp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/hsdp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/tp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/tp-sp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/tp-dp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/tp-sp-fsdp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/cp-attention.mlir | diff %t.ddp -
// RUN: %{plain} %examples/ddp-cp.mlir | diff %t.ddp -
//
// With grouped-query attention the numbers of heads differ, too.
// DEFINE: %{shapeless} = sed -e 's/<[0-9x]*xf32/</'
// RUN: %{plain} %examples/gqa.mlir | %{shapeless} > %t.gqa
// RUN: %{plain} %examples/gqa-replicated.mlir | %{shapeless} | diff %t.gqa -
// RUN: %{plain} %examples/mqa.mlir | %{shapeless} | diff %t.gqa -
