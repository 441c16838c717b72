#ifndef TPSP_DIALECT_TPSP_BLOCKOPS_TD
#define TPSP_DIALECT_TPSP_BLOCKOPS_TD

// Blocks: positions of an index as tensors of their own.
include "tpsp/Dialect/Tpsp/OpBase.td"

class Tpsp_BlockOp<string mnemonic, list<string> overridden = []>
    : Tpsp_IndexedOp<mnemonic,
        overridden #
          ["getLinearity", "getWholeIndices", "getIntegerWidth", "selects"], [
        DeclareOpInterfaceMethods<Tpsp_BlockCopyOpInterface>]> {
  let hasVerifier = 1;
}

def Tpsp_TakeOp : Tpsp_BlockOp<"take"> {
  let summary = "one position of an index";
  let description = [{
    The operand at position `at` of `index`, which the result lacks.

    ```mlir
    %y = tpsp.take %x {index = "n", at = 1}
       : tensor<2x4x8xf32, #tpsp.idx<b, n, s>>
      -> tensor<2x8xf32, #tpsp.idx<b, s>>
    ```

    Constraints: (I1)-(I8), and
    - (B1) One operand; it has `index`, and the result its other indices.
    - (B2) `at` is a position of `index`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index,
                       I64Attr:$at);
}

def Tpsp_StackOp : Tpsp_BlockOp<"stack", ["introducesIndices"]> {
  let summary = "tensors as the positions of a new index";
  let description = [{
    The result at position i of `index` is operand i. The inverse of `take`.

    ```mlir
    %x = tpsp.stack %y, %z {index = "n"}
       : tensor<2x8xf32, #tpsp.idx<b, s>>
      -> tensor<2x2x8xf32, #tpsp.idx<b, n, s>>
    ```

    Constraints: (I1)-(I8), and
    - (B3) One or more operands of the same indices; the result has these and
           `index`, with as many positions as there are operands.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index);
}

#endif // TPSP_DIALECT_TPSP_BLOCKOPS_TD
