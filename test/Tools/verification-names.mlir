// Tensors of layers differ in the ends of their names, so none is cut, and numbers are aligned.
// REQUIRES: tpsp-run
// RUN: tpsp-run %s --grad --optimizer sgd --verify | FileCheck %s --match-full-lines --strict-whitespace

//      CHECK:  tensor                                                    error  rounding
// CHECK-NEXT:  model.layers.first.mlp.up_projection.weight{{            [0-9.e+-]+  [0-9.e+-]+}}
// CHECK-NEXT:  model.layers.first.mlp.up_projection.bias{{              [0-9.e+-]+  [0-9.e+-]+}}
// CHECK-NEXT:  momentum[model.layers.first.mlp.up_projection.weight]{{  [0-9.e+-]+  [0-9.e+-]+}}
// CHECK-NEXT:  momentum[model.layers.first.mlp.up_projection.bias]{{    [0-9.e+-]+  [0-9.e+-]+}}

tpsp.program <b = 6, d = 5, e = 9> {
mesh @mesh <dp = 2 : data, tp = 3 : model>
func @f(%x: [b@dp, d], param %w "model.layers.first.mlp.up_projection.weight": [e@tp, d],
        param %c "model.layers.first.mlp.up_projection.bias": [e@tp]) -> ([] {tpsp.name = "loss"}) {
  %y = einsum %w, %x -> [b, e, ?]
  %z = add %y, %c
  %a = square %z
  %loss = mean %a -> []
  return %loss
}
}
