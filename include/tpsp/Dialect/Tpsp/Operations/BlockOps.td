#ifndef TPSP_DIALECT_TPSP_OPERATIONS_BLOCKOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_BLOCKOPS_TD

// Blocks: positions of an index as tensors of their own.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"

class Tpsp_BlockOp<string mnemonic, list<string> overridden = [],
                   list<Trait> facts = []>
    : Tpsp_IndexedOp<mnemonic,
        overridden # ["getWholeIndices", "getIntegerWidth"], [
        Tpsp_LinearJointly, Tpsp_Selects,
        DeclareOpInterfaceMethods<Tpsp_BlockCopyOpInterface>] # facts> {
  let hasVerifier = 1;
  let extraClassDefinition = Tpsp_Syntax # [{
    ::llvm::SmallVector<::llvm::StringRef> $cppClass::getWholeIndices() {
      return {getIndex()};
    }
    unsigned $cppClass::getIntegerWidth(unsigned) { return widthOfFirst(*this); }
    ::llvm::StringRef $cppClass::getBlockIndex() { return getIndex(); }
  }];
}

def Tpsp_TakeOp : Tpsp_BlockOp<"take", ["inferIndices"]> {
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

def Tpsp_StackOp : Tpsp_BlockOp<"stack", [], [Tpsp_IntroducesIndices]> {
  let summary = "tensors as the positions of a new index";
  let description = [{
    Position i of `index` of the result is operand i. The inverse of `take`.

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

/// Runs of positions of an index. The tensors have different extents along it,
/// and so different names for it.
class Tpsp_RunOp<string mnemonic, list<string> overridden, list<Trait> facts>
    : Tpsp_IndexedOp<mnemonic,
        overridden # ["getWholeIndices", "getIntegerWidth"],
        facts # [Tpsp_IntroducesIndices]> {
  let hasVerifier = 1;
  let extraClassDefinition = Tpsp_Syntax # [{
    unsigned $cppClass::getIntegerWidth(unsigned) { return widthOfFirst(*this); }
    ::llvm::SmallVector<::llvm::StringRef> $cppClass::getWholeIndices() {
      return namesOfIndex(*this, getIndex());
    }
  }];
}

def Tpsp_ConcatOp
    : Tpsp_RunOp<"concat", [], [Tpsp_LinearJointly, Tpsp_Selects]> {
  let summary = "tensors one after the other along an index";
  let description = [{
    Along `index`, the result has the first operand's positions, then the
    second's, and so on.

    ```mlir
    %x = tpsp.concat %y, %z {index = "s"}
       : (tensor<2x3xf32, #tpsp.idx<b, p>>, tensor<2x5xf32, #tpsp.idx<b, r>>)
      -> tensor<2x8xf32, #tpsp.idx<b, s>>
    ```

    Constraints: (I1)-(I8), and
    - (B4) One or more operands. The result has `index`; each operand has the
           result's indices in their order, but in place of `index` one that the
           result lacks. The extents of these add up to that of `index`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index);
}

def Tpsp_CutOp : Tpsp_RunOp<"cut", [], [Tpsp_LinearJointly, Tpsp_Selects]> {
  let summary = "consecutive positions of an index";
  let description = [{
    The operand at positions `from`, `from` + 1, ... of `index`. The result has
    another index in its place, whose extent is the number of positions.

    ```mlir
    %y = tpsp.cut %x {index = "s", from = 3}
       : tensor<2x8xf32, #tpsp.idx<b, s>> -> tensor<2x5xf32, #tpsp.idx<b, r>>
    ```

    Constraints: (I1)-(I8), and
    - (B5) One operand, which has `index`. The result has its indices in their
           order, but in place of `index` one that the operand lacks.
    - (B6) `from` and the positions behind it are positions of `index`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index,
                       I64Attr:$from);
}

def Tpsp_PadOp : Tpsp_RunOp<"pad", ["getLinearity"], []> {
  let summary = "an index with further positions, of one number";
  let description = [{
    `before` positions of `value`, then the operand, then `value` again to the
    end of `index`. Linear if `value` is 0.

    ```mlir
    %x = tpsp.pad %y {index = "s", before = 1}
       : tensor<2x5xf32, #tpsp.idx<b, r>> -> tensor<2x8xf32, #tpsp.idx<b, s>>
    ```

    Constraints: (I1)-(I8), and
    - (B7) One operand. The result has `index`; the operand has the result's
           indices in their order, but in place of `index` one that the result
           lacks.
    - (B8) `before` and the operand's positions are positions of `index`;
           `value` is 0 where integers are padded.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index,
                       DefaultValuedAttr<I64Attr, "0">:$before,
                       DefaultValuedAttr<F64Attr, "0.0">:$value);
}

#endif // TPSP_DIALECT_TPSP_OPERATIONS_BLOCKOPS_TD
