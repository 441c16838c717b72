#ifndef TPSP_DIALECT_TPSP_INTEGEROPS_TD
#define TPSP_DIALECT_TPSP_INTEGEROPS_TD

// Integers: positions and routing.
include "tpsp/Dialect/Tpsp/OpBase.td"

def Tpsp_OneHotEinsumOp
    : Tpsp_IndexedOp<"one_hot_einsum",
        ["getLinearity", "introducesIndices", "getIntegerWidth",
         "getIntegerBound"], [
        DeclareOpInterfaceMethods<Tpsp_LoopOpInterface,
                                  ["emitScalar", "getPositionIndices"]>,
        DeclareOpInterfaceMethods<Tpsp_RowKernelOpInterface,
                                  ["runsByRow", "getRowIndices",
                                   "getBlockIndex", "getScratch", "emitRow"]>,
        DeclareOpInterfaceMethods<Tpsp_BucketKernelOpInterface,
                                  ["hasBuckets"]>]> {
  let summary = "einsum with the one-hot tensors of integer operands";
  let description = [{
    Operands are n tensors of i32, then x. With `indices` = [m1, ...] the result
    is the sum, over every index that it lacks, of

        [ids1 = position along m1] ... [idsn = position along mn] x.

    An m that x carries is looked up: an embedding is W[v, d] under ids[b, s]. An
    m that the result carries is written to: the gradient of that embedding, or
    tokens sent to their places. So the operation is its own adjoint. An integer
    that is no position along its index selects nothing.

    Where it writes, its buckets are the positions written to. A first kernel
    links what goes to each, in order. A second adds along these lists, in f32
    (f64) whatever the storage. So no two threads write to one place, and
    results do not depend on how many there are.

    ```mlir
    %z = tpsp.one_hot_einsum %ids, %w {indices = ["v"]}
       : (!ids /*b,s*/, !w /*v,d*/) -> !z /*b,s,d*/
    ```

    Constraints: (I1)-(I8), and
    - (H1) One operand of i32 for each of `indices`, and one of floating-point
           numbers. None of the integers is partial.
    - (H2) Each of `indices` is an index of x or of the result, of no integer
           operand, and named once.
    - (H3) Every other index of x or of an integer operand that the result lacks
           is carried by an integer operand. Every other index of the result is
           an operand's.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrArrayAttr:$indices);
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// Names of `indices`.
    ::llvm::SmallVector<::llvm::StringRef> selected();
    ::mlir::Value data() { return getOperands().back(); }
    /// Those of `indices` that the result carries, and their integers.
    ::llvm::SmallVector<::llvm::StringRef> targets();
    ::llvm::SmallVector<::mlir::Value> targetIds();
    /// Indices that are summed over but for those that select: the terms of a
    /// sum are the positions along them, the last fastest.
    ::llvm::SmallVector<::llvm::StringRef> terms();
    /// The innermost index of x, if every work item can do all of it: the
    /// result carries it and no integer depends on it. Else empty.
    ::llvm::StringRef innermost();
  }];
}

def Tpsp_RouterOp
    : Tpsp_IndexedOp<"router", ["introducesIndices", "getIntegerWidth",
                                "getWholeIndices", "inferIndices"], [
        DeclareOpInterfaceMethods<Tpsp_RowKernelOpInterface,
                                  ["getRowIndices", "emitRow"]>]> {
  let summary = "positions of the largest values along an index";
  let description = [{
    For every row along `expert`, the positions of its largest values, largest
    first, along the new index `choice`; of equal ones the first.

    ```mlir
    %ids = tpsp.router %logits {expert = "e", choice = "k"}
         : (!logits /*g,s,e*/) -> tensor<4x64x2xi32, #tpsp.idx<g, s, k, ?>>
    ```

    A choice is not differentiable; weights come from looking the scores up
    (tpsp.one_hot_einsum).

    Constraints: (I1)-(I8), and
    - (T1) One operand, with index `expert`; the result has its other indices,
           and `choice` of at most the extent of `expert`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$expert,
                       StrAttr:$choice);
  let hasVerifier = 1;
}

def Tpsp_CountEarlierOp
    : Tpsp_IndexedOp<"count_earlier", ["getIntegerWidth", "getIntegerBound",
                                       "getWholeIndices"], [
        Tpsp_KeepsIndices,
        DeclareOpInterfaceMethods<Tpsp_BucketKernelOpInterface,
                                  ["needsBucketScratch"]>]> {
  let summary = "how many equal integers come before each";
  let description = [{
    For every integer, how many equal ones precede it, in the order of `over`,
    major to minor. It gives tokens their slots at their experts.
    Integers outside [0, `values`) count as -1.

    Constraints: (I1)-(I8), and
    - (T2) One operand; the result has its indices; `over` names some of them,
           each once; `values` is from 1 to 65536.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrArrayAttr:$over,
                       I64Attr:$values);
  let hasVerifier = 1;
}

def Tpsp_EmbeddingOp
    : Tpsp_EarlyCompositeOp<"embedding", ["getIntegerWidth", "getIntegerBound",
                                          "getLinearity", "inferIndices"]> {
  let summary = "rows of a table";
  let description = [{
    Operands ids (i32) and table; the result has the indices of ids and those of
    the table but `vocabulary`. An id outside the vocabulary gives zero.

    Constraints: (I1)-(I8), and
    - (H4) Two operands; the table carries `vocabulary`, ids and the result do
           not; ids are not partial.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$vocabulary);
}

def Tpsp_CrossEntropyOp
    : Tpsp_EarlyCompositeOp<"cross_entropy", ["getIntegerWidth",
                                              "getIntegerBound",
                                              "inferIndices"]> {
  let summary = "negative log-likelihood of targets under a softmax";
  let description = [{
    Operands logits and targets (i32). loss = log(sum over `over` of exp(logits))
    - logits[target], for every position: take `tpsp.mean` of it for a mean. Where
    the vocabulary is sharded, the row's maximum, its sum and the target's logit
    are reduced, never the logits.

    Constraints: (I1)-(I8), and
    - (X1) Two operands; logits carry `over`; targets and the result have their
           other indices.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$over);
}

def Tpsp_DispatchOp
    : Tpsp_EarlyCompositeOp<"dispatch", ["getIntegerWidth", "getIntegerBound",
                                         "introducesIndices", "getLinearity"]> {
  let summary = "tokens to the slots of their experts";
  let description = [{
    Operands ids (i32, which expert each choice of each token is) and x. The
    result carries `expert` and `slot`, whose extent is the capacity of an expert
    for one group: the indices that ids and the result share. Within a group,
    slots are given in the order of `choice`, then of the token; what finds no
    slot is dropped.

    ```mlir
    %y = tpsp.dispatch %ids, %x {expert = "e", slot = "c", choice = "k"}
       : (!ids /*g,s,k*/, !x /*g,s,d*/) -> !y /*e,g,c,d*/
    ```

    Constraints: (I1)-(I8), and
    - (D1) Two operands; the result carries `expert` and `slot`, and no operand
           does; ids carry `choice`, which x and the result lack, and are not
           partial.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$expert,
                       StrAttr:$slot, StrAttr:$choice);
}

def Tpsp_CombineOp
    : Tpsp_EarlyCompositeOp<"combine", ["getIntegerWidth", "getIntegerBound",
                                        "getLinearity"]> {
  let summary = "what the experts made of tokens, back to the tokens";
  let description = [{
    Operands ids (i32), weights and v: the mirror of `dispatch`, weighted. The
    result is the sum over `choice` of the weight times v at the token's slot; a
    choice that was dropped contributes nothing.

    Constraints: (I1)-(I8), and
    - (D2) Three operands; v carries `expert` and `slot`, ids carry `choice`, and
           the result lacks all three; weights have the indices of ids, which
           are not partial.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$expert,
                       StrAttr:$slot, StrAttr:$choice);
}

#endif // TPSP_DIALECT_TPSP_INTEGEROPS_TD
