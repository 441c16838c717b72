// The strategies are one program: but for comments, the mesh and axes,
// their examples are the same text.
// DEFINE: %{plain} = sed -e '/^\/\//d' -e '/^mesh/d' -e 's/\([a-z]\)@[a-z@]*/\1/g'
// RUN: %{plain} %examples/ddp.mlir > %t.ddp
// RUN: %{plain} %examples/fsdp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/hsdp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/tp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/tp-sp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/tp-dp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/tp-sp-fsdp.mlir | diff %t.ddp -
// RUN: %{plain} %examples/cp-attention.mlir | diff %t.ddp -
//
// Ulysses writes the subscripts of attention, which others leave open.
// RUN: %{plain} %examples/ulysses.mlir | sed -e '/= einsum .w[qkv]\|= rename/s/ k]$/ k, ?]/' -e 's/causal} -> .*/causal}/' | diff %t.ddp -
//
// RUN: %{plain} %examples/ddp-cp.mlir | diff %t.ddp -
//
// With grouped-query attention the numbers of heads differ, too.
// DEFINE: %{shapeless} = sed -e '/^tpsp.program/d'
// RUN: %{plain} %examples/gqa.mlir | %{shapeless} > %t.gqa
// RUN: %{plain} %examples/gqa-replicated.mlir | %{shapeless} | diff %t.gqa -
// RUN: %{plain} %examples/mqa.mlir | %{shapeless} | diff %t.gqa -
