// Tensor parallelism and tensor plus sequence parallelism are one program with
// other subscripts of arguments and results.
//
// RUN: sed -e 's,//.*,,' -e 's/ *$//' %examples/mlp-tp.mlir > %t.mlp-tp
// RUN: sed -e 's,//.*,,' -e 's/ *$//' -e 's/s@tp/s/g' %examples/mlp-sp.mlir > %t.mlp-sp
// RUN: diff %t.mlp-tp %t.mlp-sp
// RUN: sed -e 's,//.*,,' -e 's/ *$//' %examples/gpt-block-tp.mlir > %t.block-tp
// RUN: sed -e 's,//.*,,' -e 's/ *$//' -e 's/s@tp/s/g' %examples/gpt-block-sp.mlir > %t.block-sp
// RUN: diff %t.block-tp %t.block-sp
