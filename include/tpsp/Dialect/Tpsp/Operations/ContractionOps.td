#ifndef TPSP_DIALECT_TPSP_OPERATIONS_CONTRACTIONOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_CONTRACTIONOPS_TD

// Contraction: products and sums over indices.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"

def Tpsp_EinsumOp
    : Tpsp_LoopOp<"einsum", [], ["getScalarFormula"],
                  [Tpsp_LinearInEach, Tpsp_SumOfProducts]> {
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
    : Tpsp_LoopOp<"reduce", ["getLinearity", "getReduction", "staysWide"],
                  ["getScalarFormula"]> {
  let summary = "sum or maximum over the indices the result lacks";
  let description = [{
    `kind` is "sum" or "max". The gradient of a maximum is divided evenly among
    the elements that are equal to it.

    Constraints: (I1)-(I8), and
    - (R1) `kind` is "sum" or "max"; one operand.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs,
                       DefaultValuedAttr<StrAttr, "\"sum\"">:$kind);
  let hasVerifier = 1;
}

def Tpsp_MeanOp
    : Tpsp_EarlyCompositeOp<"mean", ["getLinearity", "getIntegerWidth",
                                     "staysWide"]> {
  let summary = "mean over the indices the result lacks";
  let description = [{
    The sum divided by the product of the global extents, once, whatever the
    sharding.

    With labels (i32), an element counts if its label is not negative. The mean
    is the sum of these elements divided by their number in the whole tensor. If
    there are none, it is 0. Their number is summed in f32 (f64).

    ```mlir
    %loss = tpsp.mean %each, %labels : (!losses, !labels) -> !number
    ```

    Constraints: (I1)-(I8), and
    - (G1) One operand, or two. The second is the labels. Its indices are
           indices of the first, and the result lacks at least one of them.
  }];
}

#endif // TPSP_DIALECT_TPSP_OPERATIONS_CONTRACTIONOPS_TD
