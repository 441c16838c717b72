#ifndef TPSP_DIALECT_TPSP_OPERATIONS_VIEWOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_VIEWOPS_TD

// Views and requests.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"

class Tpsp_ViewOp<string mnemonic>
    : Tpsp_IndexedOp<mnemonic, ["getIndexStructure"],
                     [Tpsp_View, Tpsp_LinearJointly]> {
  let hasVerifier = 1;
}

def Tpsp_RenameOp : Tpsp_ViewOp<"rename"> {
  let summary = "the same tensor under other index names";
  let description = [{
    Constraints: (I1)-(I3), (I6), (I7), and
    - (V1) One operand; the result has its shape.
  }];
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

def Tpsp_SplitOp : Tpsp_ViewOp<"split"> {
  let summary = "one index becomes several, major to minor";
  let description = [{
    ```mlir
    %h = tpsp.split %e : tensor<2x1024xf32, #tpsp.idx<s, e>>
                      -> tensor<2x8x128xf32, #tpsp.idx<s, h, k>>
    ```
    Constraints: (I1)-(I3), (I6), (I7), and
    - (V2) Names of the operand that the result lacks are each replaced in place
           by adjacent new names whose extents multiply to theirs.
  }];
}

def Tpsp_MergeOp : Tpsp_ViewOp<"merge"> {
  let summary = "several adjacent indices become one";
  let description = [{
    The inverse of `split`.

    Constraints: (I1)-(I3), (I6), (I7), and (V2), read from result to operand.
  }];
}

def Tpsp_PrefixOp
    : Tpsp_IndexedOp<"prefix", ["getIndexStructure"],
                     [Tpsp_View, Tpsp_LinearJointly], hasAdjoint=0> {
  let summary = "the first elements of one rank's tensor, in another shape";
  let description = [{
    The result's elements, in row-major order, are the first ones of the operand.
    `tpsp-partition` makes it where a tensor is cut as a row of elements, whose
    last piece is padded.

    ```mlir
    %w = tpsp.prefix %row : tensor<1x16xf32, #tpsp.idx<e, d, local>>
                         -> tensor<5x3xf32, #tpsp.idx<e, d, local>>
    ```

    Constraints: (I1)-(I3), (I6), (I7), and
    - (V4) One operand of at least as many elements; both are of one rank.
  }];
  let hasVerifier = 1;
}

def Tpsp_StopGradientOp
    : Tpsp_IndexedOp<"stop_gradient", [],
                     [Tpsp_KeepsIndices, Tpsp_View, Tpsp_LinearJointly,
                      Tpsp_StopsGradient], hasAdjoint=0> {
  let summary = "the operand, as a constant to differentiation";
  let description = [{
    Constraints: (I1)-(I8), (V3).
  }];
  let hasVerifier = 1;
}

// Whether it is a view is only asked after its collectives have been inserted.
def Tpsp_ReshardOp
    : Tpsp_IndexedOp<"reshard", [], [Tpsp_View, Tpsp_LinearJointly]> {
  let summary = "a placement that the user asks for";
  let description = [{
    The same tensor, placed as the result's type says. `tpsp-insert-collectives`
    turns it into collectives.

    Constraints: (I1)-(I8), and
    - (V3) One operand; the result has its shape and names.
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

#endif // TPSP_DIALECT_TPSP_OPERATIONS_VIEWOPS_TD
