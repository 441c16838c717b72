#ifndef TPSP_DIALECT_TPSP_OPERATIONS_SEQUENCEOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_SEQUENCEOPS_TD

// Operations whose result at a position depends on the positions before it.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"

/// A block of positions passes little to the next block: its last state, or a
/// few of its positions.
class Tpsp_SequenceOp<string mnemonic, list<Trait> facts = []>
    : Tpsp_IndexedOp<mnemonic, ["getWholeIndices"], [
        Tpsp_KeepsIndices, Tpsp_ReducesRows, Tpsp_HasOwnKernel,
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface>] # facts> {
  let hasVerifier = 1;
  let extraClassDefinition = Tpsp_Syntax # [{
    ::llvm::SmallVector<::llvm::StringRef> $cppClass::getWholeIndices() {
      return {getIndex()};
    }
  }];
}

def Tpsp_ScanOp : Tpsp_SequenceOp<"scan"> {
  let summary = "linear recurrence of the first order along an index";
  let description = [{
    y[s] = a[s] y[s - 1] + x[s] along `index`, where y before the first position
    is 0. With `reverse` it begins at the last position: y[s] = a[s] y[s + 1] +
    x[s]. The decay a may lack other indices of x. States are f32 (f64 for f64).
    The time is linear in the extent of `index`.

    ```mlir
    %y = tpsp.scan %x, %a {index = "s"}
       : (tensor<2x8x4xf32, #tpsp.idx<b, s, d>>, tensor<8x4xf32, #tpsp.idx<s, d>>)
      -> tensor<2x8x4xf32, #tpsp.idx<b, s, d>>
    ```

    Constraints: (I1)-(I8), and
    - (K1) The result has the first operand's indices; `index` is one of them.
    - (K2) Operands are x and a; a has `index`, and no index that x lacks.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index,
                       UnitAttr:$reverse);
}

def Tpsp_CumsumOp : Tpsp_SequenceOp<"cumsum", [Tpsp_LinearJointly]> {
  let summary = "sums of the positions up to each, along an index";
  let description = [{
    y[s] = x[0] + ... + x[s] along `index`; with `reverse`, x[s] + ... to the
    last position. Sums are f32 (f64 for f64). Linear.

    ```mlir
    %y = tpsp.cumsum %x {index = "s"} : tensor<2x8xf32, #tpsp.idx<b, s>>
    ```

    Constraints: (I1)-(I8), (K1), and
    - (K3) One operand.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index,
                       UnitAttr:$reverse);
}

def Tpsp_DelayOp : Tpsp_SequenceOp<"delay", [Tpsp_LinearJointly]> {
  let summary = "the operand some positions earlier along an index";
  let description = [{
    y[s] = x[s - by] along `index`, and 0 if there is no such position. A
    negative `by` looks ahead. Linear.

    ```mlir
    %y = tpsp.delay %x {index = "s", by = 1} : tensor<2x8xf32, #tpsp.idx<b, s>>
    ```

    Constraints: (I1)-(I8), (K1), (K3).
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index,
                       DefaultValuedAttr<I64Attr, "1">:$by);
  let extraClassDeclaration = [{
    /// `by`, limited to the extent of `index`.
    int64_t getPositions();
  }];
}

def Tpsp_HandOnOp
    : Tpsp_IndexedOp<"hand_on", ["getIntegerWidth", "getHandOn"], [
        Tpsp_KeepsIndices, Tpsp_LinearJointly, Tpsp_Selects,
        DeclareOpInterfaceMethods<Tpsp_BlockCopyOpInterface>]> {
  let summary = "the operand some positions earlier, around the end";
  let description = [{
    y[p] = x[(p - by) mod n] along `index`, which has n positions: shards, of
    which each hands on a tensor. `tpsp-propagate` and `tpsp-ring-attention`
    make it. Axes divide the
    index into single positions, or not at all. If they do,
    `tpsp-insert-collectives` turns it into a permute. Linear. With `mirrored`,
    y[p] = x[(n - by - p) mod n]: with `by = 1` the first position has the last
    one's operand.

    ```mlir
    %y = tpsp.hand_on %x {index = "p", by = 1}
       : tensor<4x8xf32, #tpsp.idx<p@cp, s>>
    ```

    Constraints: (I1)-(I8), (K1), (K3), and
    - (K4) 0 < |by| < n.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index,
                       I64Attr:$by, UnitAttr:$mirrored);
  let hasVerifier = 1;
}

#endif // TPSP_DIALECT_TPSP_OPERATIONS_SEQUENCEOPS_TD
