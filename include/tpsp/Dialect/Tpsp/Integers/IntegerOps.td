#ifndef TPSP_DIALECT_TPSP_INTEGERS_INTEGEROPS_TD
#define TPSP_DIALECT_TPSP_INTEGERS_INTEGEROPS_TD

// Integers: positions and routing.
include "tpsp/Dialect/Tpsp/Integers/GroupedProduct.td"
include "tpsp/Dialect/Tpsp/IR/OpBase.td"
include "tpsp/Dialect/Tpsp/Integers/Routing.td"

def Tpsp_OneHotEinsumOp
    : Tpsp_IndexedOp<"one_hot_einsum",
        ["getIntegerWidth", "getIntegerBound"], [
        Tpsp_LinearInEach, Tpsp_IntroducesIndices,
        DeclareOpInterfaceMethods<Tpsp_LoopOpInterface,
                                  ["emitScalar", "getPositionIndices"]>,
        DeclareOpInterfaceMethods<Tpsp_GroupedProductOpInterface>]> {
  let summary = "einsum with the one-hot tensors of integer operands";
  let description = [{
    Operands are n tensors of i32, then the numbers: one or more tensors x1 to
    xm. With `indices` = [m1, ...] the result is the sum, over every index that
    it lacks, of

        [ids1 = position along m1] ... [idsn = position along mn] x1 ... xm.

    If an x carries mi, x is looked up: an embedding is W[v, d] under ids[b, s].
    If the result carries mi, it is written to: the gradient of that embedding,
    or tokens sent to their places. So the operation is its own adjoint. An
    integer that is not a position along its index selects nothing.

    With two tensors of numbers it is a grouped product. For W[e, f, d] and x[s,
    d] under ids[s], only the matrix ids[s] multiplies row s, which costs 2 f d
    FLOPs. The gradient of x is a grouped product with the same matrices. The
    gradient of W is one that writes to them.

    If it writes, each position written to is a bucket. A first kernel links the
    entries of each bucket, in order. A second kernel adds along these lists, in
    f32 (f64) whatever the storage type. So no two threads write to one place,
    and results do not depend on the number of threads.

    ```mlir
    %z = tpsp.one_hot_einsum %ids, %w {indices = ["v"]}
       : (!ids /*b,s*/, !w /*v,d*/) -> !z /*b,s,d*/
    %u = tpsp.one_hot_einsum %expert, %up, %y {indices = ["e"]}
       : (!expert /*g,r*/, !up /*e,f,d*/, !y /*g,r,d*/) -> !u /*g,r,f*/
    ```

    Constraints: (I1)-(I8), and
    - (H1) One operand of i32 for each of `indices`, and one or more of
           floating-point numbers. None of the integers is partial.
    - (H2) Each of `indices` is an index of one of the numbers or of the result,
           of no integer operand, and named once.
    - (H3) Every other index of a number that the result lacks is carried by
           another operand. Every other index of the result is an operand's.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrArrayAttr:$indices);
  let hasVerifier = 1;
  let hasCanonicalizeMethod = 1;
  let extraClassDeclaration = [{
    /// Names of `indices`.
    ::llvm::SmallVector<::llvm::StringRef> selected();
    ::mlir::ValueRange integers() {
      return getOperands().take_front(getIndices().size());
    }
    ::mlir::ValueRange numbers() {
      return getOperands().drop_front(getIndices().size());
    }
    /// The tensor of numbers that carries an index; null if none does.
    ::mlir::Value carrier(::llvm::StringRef index);
    /// Those of `indices` that the result carries; below, their integers.
    ::llvm::SmallVector<::llvm::StringRef> targets();
    ::llvm::SmallVector<::mlir::Value> targetIds();
    /// The summed indices except those that select. The terms of a sum are the
    /// positions along them, the last index fastest.
    ::llvm::SmallVector<::llvm::StringRef> terms();
    /// The innermost index of a number, if every work item can cover it
    /// completely: the result carries it and no integer depends on it. Else
    /// empty.
    ::llvm::StringRef innermost();
  }];
}

def Tpsp_RouterOp
    : Tpsp_IndexedOp<"router",
        ["getIntegerWidth", "getWholeIndices", "inferIndices"],
        [Tpsp_IntroducesIndices], hasAdjoint=0> {
  let summary = "positions of the largest values along an index";
  let description = [{
    For every row along `expert`, the positions of its largest values, largest
    first, along the new index `choice`. Equal values keep their order.

    ```mlir
    %ids = tpsp.router %logits {expert = "e", choice = "k"}
         : (!logits /*g,s,e*/) -> tensor<4x64x2xi32, #tpsp.idx<g, s, k, ?>>
    ```

    A choice is not differentiable. Weights are obtained by looking the scores
    up (tpsp.one_hot_einsum).

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
        Tpsp_KeepsIndices], hasAdjoint=0> {
  let summary = "how many equal integers come before each";
  let description = [{
    For every integer, how many equal ones precede it, in the order of `over`,
    major to minor. The operation gives tokens their slots at their experts.
    Integers outside [0, `values`) count as -1.

    An optional second operand says how often each value occurs (count_values).
    Then the smaller values of the same block are counted, too. The result is
    the integer's place after sorting block by block.

    Constraints: (I1)-(I8), and
    - (T2) One or two operands; the result has the first's indices; `over` names
           some of them, each once; `values` is from 1 to 65536.
    - (T3) A second operand has, in the order of `of`, one or two indices that
      the first lacks, of at least `values` positions together. Its other
      indices are of the first, and `over` does not name them.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrArrayAttr:$over,
                       I64Attr:$values, OptionalAttr<StrArrayAttr>:$of);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Names of `over`, and of `of`.
    ::llvm::SmallVector<::llvm::StringRef> countedIndices();
    ::llvm::SmallVector<::llvm::StringRef> valueIndices();
  }];
}

def Tpsp_CountValuesOp
    : Tpsp_IndexedOp<"count_values",
        ["getIntegerWidth", "getIntegerBound", "getWholeIndices",
         "inferIndices"],
        [Tpsp_IntroducesIndices], hasAdjoint=0> {
  let summary = "how often each value occurs among integers";
  let description = [{
    The result has the operand's indices except `over`, then those of `of`. The
    latter is one index whose positions are the values, or two: the blocks, and
    the values within a block. For example, how many tokens have chosen each
    expert:

    ```mlir
    %load = tpsp.count_values %choice {over = ["s", "k"], of = ["j", "i"]}
          : (!choice /*g,s,k*/) -> !load /*g,j,i*/
    ```

    Integers that are not positions are not counted.

    Constraints: (I1)-(I8), and
    - (T4) One operand; `over` names some of its indices, each once; `of` names
      one or two that it lacks. The result has its other indices and those.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrArrayAttr:$over,
                       StrArrayAttr:$of);
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Names of `over`, and of `of`.
    ::llvm::SmallVector<::llvm::StringRef> countedIndices();
    ::llvm::SmallVector<::llvm::StringRef> valueIndices();
  }];
}

def Tpsp_RunsOp
    : Tpsp_IndexedOp<"runs", ["getIntegerWidth", "getWholeIndices"],
                     [Tpsp_IntroducesIndices], hasAdjoint=0> {
  let summary = "sorted integers, from how often each occurs";
  let description = [{
    Along the new index `along`, position 0 of `of` comes as often as its count
    says, then position 1, and so on. The rest is -1. For example, the expert of
    each row of a block:

    ```mlir
    %expert = tpsp.runs %load {of = "i", along = "c"}
            : (!load /*g,j,i*/) -> !expert /*g,j,c*/
    ```

    Repetitions that do not fit into `along` are dropped. A negative count is 0.

    Constraints: (I1)-(I8), and
    - (T5) One operand with index `of`; the result has its other indices, and
           `along`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$of,
                       StrAttr:$along);
  let hasVerifier = 1;
}

def Tpsp_BlockOfOp
    : Tpsp_LoopOp<"block_of", ["getIntegerWidth"], [], [Tpsp_KeepsIndices],
                  hasAdjoint=0> {
  let summary = "the block of `size` positions that each integer is in";
  let description = [{
    The integer divided by `size`, rounded down. A negative integer is in no
    block, and gives -1.

    Constraints: (I1)-(I8), and
    - (T6) One operand; the result has its indices; `size` is at least 1.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, I64Attr:$size);
  let hasVerifier = 1;
}

def Tpsp_EmbeddingOp
    : Tpsp_EarlyCompositeOp<"embedding", ["getIntegerWidth", "getIntegerBound",
                                          "inferIndices"],
                            [Tpsp_LinearInEach]> {
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
                                              "inferIndices"],
                            [Tpsp_StaysWide]> {
  let summary = "negative log-likelihood of targets under a softmax";
  let description = [{
    Operands are logits and targets (i32). For every position, loss = log(sum
    over `over` of exp(logits)) - logits[target]. A position with a negative
    target, such as -100, does not count: its loss is 0, and its logits have no
    gradient. `tpsp.mean` of the losses and the targets is the mean over the
    positions that count; without the targets it divides by all positions. If
    the vocabulary is sharded, the row's maximum, its sum and the
    target's logit are reduced, never the logits.

    Constraints: (I1)-(I8), and
    - (X1) Two operands; logits carry `over`; targets and the result have their
           other indices.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$over);
}

def Tpsp_DispatchOp
    : Tpsp_EarlyCompositeOp<"dispatch", ["getIntegerWidth", "getIntegerBound"],
        [Tpsp_LinearInEach, Tpsp_IntroducesIndices,
         DeclareOpInterfaceMethods<Tpsp_RoutingOpInterface>]> {
  let summary = "tokens to the slots of their experts";
  let description = [{
    Operands are ids (i32, the expert of each choice of each token) and x. The
    result carries `expert` and `slot`. The extent of `slot` is the capacity of
    an expert for one group; groups are the indices that ids and the result
    share. Within a group, slots are given in the order of `choice`, then of the
    token. A choice that finds no slot is dropped.

    ```mlir
    %y = tpsp.dispatch %ids, %x {expert = "e", slot = "c", choice = "k"}
       : (!ids /*g,s,k*/, !x /*g,s,d*/) -> !y /*e,g,c,d*/
    ```

    With the experts' load (count_values) after ids, slots belong to a block of
    experts and are sorted by expert. The load carries `expert`, and the result
    does not. The load has one more index, that of blocks, unless there is a
    single block. tpsp.runs of the load gives the expert of each slot.

    ```mlir
    %y = tpsp.dispatch %ids, %load, %x {expert = "i", slot = "c", choice = "k"}
       : (!ids /*g,s,k*/, !load /*g,j,i*/, !x /*g,s,d*/) -> !y /*g,j,c,d*/
    ```

    Constraints: (I1)-(I8), and
    - (D1) Two operands; the result carries `expert` and `slot`, and no operand
      does. Ids carry `choice`, which x and the result lack, and are not
      partial.
    - (D3) Or three, of which the second is the load. It carries `expert`, and at
           most one other index that ids lack; that and `slot` are the result's,
           and of no other operand.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$expert,
                       StrAttr:$slot, StrAttr:$choice);
}

def Tpsp_CombineOp
    : Tpsp_EarlyCompositeOp<"combine", ["getIntegerWidth", "getIntegerBound"],
                            [Tpsp_LinearInEach]> {
  let summary = "the experts' results, back to their tokens";
  let description = [{
    Operands are ids (i32), weights and v: the mirror of `dispatch`, weighted.
    The result is the sum over `choice` of the weight times v at the token's
    slot. A choice that was dropped contributes nothing. With the load after
    ids, v has the slots of blocks.

    Constraints: (I1)-(I8), and
    - (D2) Three operands; v carries `expert` and `slot`, ids carry `choice`,
      and the result lacks all three. Weights have the indices of ids, which are
      not partial.
    - (D4) Or four, of which the second is the load, as of a dispatch; v carries
           `slot` and the load's index of blocks.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$expert,
                       StrAttr:$slot, StrAttr:$choice);
}

#endif // TPSP_DIALECT_TPSP_INTEGERS_INTEGEROPS_TD
