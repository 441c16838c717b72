#ifndef TPSP_DIALECT_TPSP_OPERATIONS_CONTRACTIONOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_CONTRACTIONOPS_TD

// Contraction: products and sums over indices.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"

def Tpsp_EinsumOp
    : Tpsp_LoopOp<"einsum", ["getLinearity", "isSumOfProducts"],
                  ["getScalarFormula"]> {
  let summary = "product of tensors, summed over the indices the result lacks";
  let description = [{
    result[r...] = sum over every other index of the product of the operands.

    ```mlir
    %y = tpsp.einsum %w, %x : (!w, !x) -> tensor<2x128x1024xf32, #tpsp.idx<b, s, e@tp>>
    ```

    Constraints: (I1)-(I8), and
    - (E1) One or two operands.
  }];
  let hasVerifier = 1;
}

def Tpsp_ReduceOp
    : Tpsp_LoopOp<"reduce", ["getLinearity", "getReduction"],
                  ["getScalarFormula"]> {
  let summary = "sum or maximum over the indices the result lacks";
  let description = [{
    `kind` is "sum" or "max".

    Constraints: (I1)-(I8), and
    - (R1) `kind` is "sum" or "max"; one operand.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs,
                       DefaultValuedAttr<StrAttr, "\"sum\"">:$kind);
  let hasVerifier = 1;
}

def Tpsp_MeanOp : Tpsp_EarlyCompositeOp<"mean", ["getLinearity"]> {
  let summary = "mean over the indices the result lacks";
  let description = [{
    The sum divided by the product of the global extents, once, whatever the
    sharding.

    Constraints: (I1)-(I8), and
    - (G1) One operand.
  }];
}

#endif // TPSP_DIALECT_TPSP_OPERATIONS_CONTRACTIONOPS_TD
