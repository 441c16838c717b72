#ifndef TPSP_DIALECT_TPSP_OPS_TD
#define TPSP_DIALECT_TPSP_OPS_TD

include "tpsp/Dialect/Tpsp/TpspAttrs.td"
include "tpsp/Dialect/Tpsp/TpspInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Tpsp_Tensor : Type<
    And<[CPred<"::llvm::isa<::mlir::RankedTensorType>($_self)">,
         CPred<"::llvm::isa_and_nonnull<::tpsp::IdxAttr>("
               "::llvm::cast<::mlir::RankedTensorType>($_self).getEncoding())">
    ]>,
    "tensor with #tpsp.idx subscripts", "::mlir::RankedTensorType">;

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

def Tpsp_MeshOp : Op<Tpsp_Dialect, "mesh", [Symbol]> {
  let summary = "the device mesh of the module";
  let description = [{
    Named axes with sizes and, optionally, roles. Ranks are numbered row-major,
    first axis slowest.

    ```mlir
    tpsp.mesh @mesh <fsdp = 2 : data, tp = 4 : model>
    ```

    Constraints:
    - (M1) Axis names differ.
    - (M2) Sizes are at least 1.
    - (M3) A module has one mesh.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrArrayAttr:$axis_names,
                       DenseI64ArrayAttr:$axis_sizes, StrArrayAttr:$axis_roles);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::tpsp::Mesh getMesh();
  }];
}

//===----------------------------------------------------------------------===//
// Base classes
//===----------------------------------------------------------------------===//

class Tpsp_Op<string mnemonic, list<Trait> traits = []>
    : Op<Tpsp_Dialect, mnemonic, traits # [Pure]>;

class Tpsp_IndexedOp<string mnemonic, list<string> overridden = [],
                     list<Trait> traits = []>
    : Tpsp_Op<mnemonic, traits # [
        DeclareOpInterfaceMethods<Tpsp_IndexedOpInterface,
                                  overridden # ["buildAdjoint"]>]> {
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs);
  let results = (outs Tpsp_Tensor:$result);
  // One type when all agree, else a functional type.
  let assemblyFormat = [{
    $inputs attr-dict `:`
    custom<OperandAndResultTypes>(ref($inputs), type($inputs), type($result))
  }];
}

class Tpsp_LoopOp<string mnemonic, list<string> overridden = [],
                  list<string> loopOverridden = []>
    : Tpsp_IndexedOp<mnemonic, overridden, [
        DeclareOpInterfaceMethods<Tpsp_LoopOpInterface,
                                  loopOverridden # ["emitScalar"]>]>;

//===----------------------------------------------------------------------===//
// Contraction
//===----------------------------------------------------------------------===//

def Tpsp_EinsumOp : Tpsp_LoopOp<"einsum", ["getLinearity", "isSumOfProducts"]> {
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

def Tpsp_ReduceOp : Tpsp_LoopOp<"reduce", ["getLinearity", "getReduction"]> {
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

//===----------------------------------------------------------------------===//
// Pointwise, with broadcast by index name
//===----------------------------------------------------------------------===//

class Tpsp_PointwiseOp<string mnemonic, int arity, list<string> overridden = [],
                       list<string> loopOverridden = []>
    : Tpsp_LoopOp<mnemonic, overridden, loopOverridden> {
  let summary = "pointwise " # mnemonic;
  let description = [{
    An operand may lack indices of the result: it is broadcast along them by
    name.

    Constraints: (I1)-(I8), and
    - (P1) The result carries every operand's indices.
    - (P2) The number of operands is that of the operation.
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// -1 is any number from one up.
    static constexpr int arity = }] # !cast<string>(arity) # [{;
  }];
  let extraClassDefinition = [{
    ::llvm::LogicalResult $cppClass::verify() {
      return ::tpsp::verifyPointwise(getOperation(), arity);
    }
  }];
}

def Tpsp_AddOp : Tpsp_PointwiseOp<"add", -1, ["getLinearity", "isSumOfOperands"]>;
def Tpsp_SubOp : Tpsp_PointwiseOp<"sub", 2, ["getLinearity"]>;
def Tpsp_MulOp : Tpsp_PointwiseOp<"mul", 2, ["getLinearity"]>;
def Tpsp_DivOp : Tpsp_PointwiseOp<"div", 2>;
def Tpsp_MaxOp : Tpsp_PointwiseOp<"max", 2> {
  let summary = "the larger of two, elementwise; without a gradient";
}

def Tpsp_ConvertOp
    : Tpsp_PointwiseOp<"convert", 1, ["getLinearity", "mixesPrecision"]> {
  let summary = "the operand in another precision";
}

def Tpsp_BroadcastOp
    : Tpsp_PointwiseOp<"broadcast", 1, ["getLinearity", "introducesIndices", "selects"]>;

def Tpsp_ScaleOp : Tpsp_PointwiseOp<"scale", 1, ["getLinearity"]> {
  let summary = "multiplication by a constant";
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$factor);
}
def Tpsp_ShiftOp : Tpsp_PointwiseOp<"shift", 1> {
  let summary = "addition of a constant";
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$by);
}

/// A scalar function applied to every element; its row in ScalarFunctions.cpp
/// gives the function and its slope.
class Tpsp_UnaryOp<string mnemonic, list<string> overridden = []>
    : Tpsp_PointwiseOp<mnemonic, 1, overridden> {
  let extraClassDeclaration = [{
    static constexpr int arity = 1;
    static constexpr ::llvm::StringLiteral function = "}] # mnemonic # [{";
  }];
}

def Tpsp_NegOp : Tpsp_UnaryOp<"neg", ["getLinearity"]>;
def Tpsp_ExpOp : Tpsp_UnaryOp<"exp">;
def Tpsp_LogOp : Tpsp_UnaryOp<"log">;
def Tpsp_TanhOp : Tpsp_UnaryOp<"tanh">;
def Tpsp_SqrtOp : Tpsp_UnaryOp<"sqrt">;
def Tpsp_RsqrtOp : Tpsp_UnaryOp<"rsqrt">;
def Tpsp_SquareOp : Tpsp_UnaryOp<"square">;
def Tpsp_SigmoidOp : Tpsp_UnaryOp<"sigmoid">;
def Tpsp_ReluOp : Tpsp_UnaryOp<"relu">;
def Tpsp_SiluOp : Tpsp_UnaryOp<"silu">;
def Tpsp_GeluOp : Tpsp_UnaryOp<"gelu"> {
  let summary = "GELU, the tanh form: 0.5x(1 + tanh(sqrt(2/pi)(x + 0.044715x^3)))";
}
def Tpsp_GeluErfOp : Tpsp_UnaryOp<"gelu_erf"> {
  let summary = "GELU, the exact form: 0.5x(1 + erf(x / sqrt(2)))";
}

def Tpsp_SlopeOp : Tpsp_PointwiseOp<"slope", 1> {
  let summary = "derivative of a scalar function at every element";
  let description = [{
    `of` names the function, by the mnemonic of its operation.

    Constraints: (I1)-(I8), (P1), (P2), and
    - (P3) `of` names a scalar function.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$of);
}

def Tpsp_CausalMaskOp
    : Tpsp_PointwiseOp<"causal_mask", 1, [],
                       ["getPositionIndices", "getTileOf"]> {
  let summary = "the operand where position(key) <= position(query), else fill";
  let description = [{
    `tile` says where the keys lie in a longer index.

    Constraints: (I1)-(I8), (P1), (P2), (P5).
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$query,
                       StrAttr:$key, F64Attr:$fill,
                       OptionalAttr<Tpsp_TileAttr>:$tile);
}

def Tpsp_RopeMatrixOp
    : Tpsp_PointwiseOp<"rope_matrix", 0, ["introducesIndices"],
                       ["getPositionIndices"]> {
  let summary = "the rotations of rotary embeddings";
  let description = [{
    R[position, out, in, feature], a 2x2 rotation for every position and feature
    pair: angle = position * theta^(-feature / pairs), negated if `inverse`;
    [[cos, -sin], [sin, cos]].
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$position,
                       StrAttr:$feature, StrAttr:$out, StrAttr:$in,
                       F64Attr:$theta, I64Attr:$pairs, UnitAttr:$inverse);
}

//===----------------------------------------------------------------------===//
// Rows: operations that need an index whole
//===----------------------------------------------------------------------===//

class Tpsp_RowOp<string mnemonic, list<string> overridden = []>
    : Tpsp_IndexedOp<mnemonic, overridden # ["getWholeIndices"], [
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface>]> {
  let hasVerifier = 1;
}

def Tpsp_SoftmaxOp : Tpsp_RowOp<"softmax", ["restrictPositions"]> {
  let summary = "softmax over one index";
  let description = [{
    y = exp(scale x) / sum over `over` of exp(scale x). With `causal`, positions
    of `over` beyond the position of the index `causal` are left out.

    Constraints: (I1)-(I8), and
    - (S1) One operand; the result has its indices.
    - (S2) `over` and `causal` are indices of the operand, and differ.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$over,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       OptionalAttr<StrAttr>:$causal);
}

def Tpsp_RmsNormOp : Tpsp_RowOp<"rms_norm"> {
  let summary = "root-mean-square norm over the gain's indices";
  let description = [{
    y = x / sqrt(mean(x^2) + eps) * gain, the mean over the indices of `gain`.

    Constraints: (I1)-(I8), and
    - (L1) Operands x, gain; the result has x's indices, and gain a non-empty
           part of them.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs,
                       DefaultValuedAttr<F64Attr, "1e-5">:$eps);
}

def Tpsp_LayerNormOp : Tpsp_RowOp<"layer_norm"> {
  let summary = "layer norm over the gain's indices";
  let description = [{
    y = (x - mean(x)) / sqrt(var(x) + eps) * gain + bias, the mean and the
    (biased) variance over the indices of `gain`.

    Constraints: (I1)-(I8), and
    - (L1) Operands x, gain, bias; the result has x's indices, and gain and bias
           the same non-empty part of them.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs,
                       DefaultValuedAttr<F64Attr, "1e-5">:$eps);
}

def Tpsp_RopeOp : Tpsp_RowOp<"rope", ["getLinearity", "restrictPositions"]> {
  let summary = "rotary position embedding, the rotate-half form";
  let description = [{
    Pairs element m with m + K/2 of `feature` (extent K) and rotates each pair
    by position * theta^(-2m/K); by the negative angle if `inverse`.

    Constraints: (I1)-(I8), and
    - (O1) One operand; the result has its indices.
    - (O2) `position` and `feature` are indices of the operand, and differ; the
           extent of `feature` is even.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$position,
                       StrAttr:$feature,
                       DefaultValuedAttr<F64Attr, "10000.0">:$theta,
                       UnitAttr:$inverse);
}

class Tpsp_AttentionPartOp<string mnemonic, list<string> overridden = [],
                           list<Trait> traits = []>
    : Tpsp_IndexedOp<mnemonic,
        overridden # ["getWholeIndices", "restrictPositions"], traits # [
        DeclareOpInterfaceMethods<Tpsp_AttentionOpInterface>]> {
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$query,
                       StrAttr:$key, StrAttr:$feature,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       UnitAttr:$causal, OptionalAttr<F64Attr>:$dropout,
                       DefaultValuedAttr<I64Attr, "0">:$seed);
  let hasVerifier = 1;
}

def Tpsp_AttentionOp : Tpsp_AttentionPartOp<"attention", [], [
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface,
                                  ["decomposesEarly"]>,
        DeclareOpInterfaceMethods<Tpsp_SweptOpInterface, ["finishSweep"]>]> {
  let summary = "scaled dot-product attention";
  let description = [{
    Operands q, k, v. scores = scale * sum over `feature` of q k; softmax over
    `key`; dropout of the weights, if `dropout` gives a rate, by `seed`; the
    weighted sum of v. Indices of q that k lacks (grouped queries, after an
    index split) share keys and values.

    ```mlir
    %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
           causal, scale = 0.08838834764831845}
       : (!q /*b,s,h,r,k*/, !k /*b,t,h,k*/, !k) -> !q
    ```

    Constraints: (I1)-(I8), and
    - (A1) q carries `query` and `feature` but not `key`; k carries `key` and
           `feature` but not `query`; v carries `key` but not `query`.
    - (A2) The result carries `query` and every other index of the queries but
           `feature`, and of the values but `key`.
    - (A3) Every index of k and v but `key` is one of q's, save v's own feature.
    - (A4) 0 <= dropout < 1; scale is positive.

    It is taken apart before it is placed, or kept whole and then swept block by
    block (`tpsp-sweep`) or done by a library in one call: its gradient needs of
    the scores only what the two operations below say.
  }];
}

def Tpsp_AttentionStatisticOp
    : Tpsp_AttentionPartOp<"attention_statistic", ["mixesPrecision"], [
        DeclareOpInterfaceMethods<Tpsp_SweptOpInterface, ["finishSweep"]>]> {
  let summary = "what a row of attention's scores is normalised by";
  let description = [{
    Operands q, k: of every row of scores, the log of the sum over `key` of
    exp(score), in f32 (f64 for f64). exp(score - statistic) are attention's
    weights before dropout.

    Constraints: (I1)-(I8), (A1), (A3), (A4), and
    - (A5) The result carries `query`, and neither `key` nor `feature`.
  }];
}

def Tpsp_AttentionGradientOp
    : Tpsp_AttentionPartOp<"attention_gradient", ["mixesPrecision"], [
        DeclareOpInterfaceMethods<Tpsp_SweptOpInterface, ["finishSweep"]>]> {
  let summary = "attention's gradient with respect to one of its operands";
  let description = [{
    Operands q, k, v, the statistic, g (the result's gradient), and attention's
    result o. With w the weights, p what dropout leaves of them, d what it leaves
    of the product of g and v, and r of every row the sum of g times o:

        dv = p^T g,  ds = scale w (d - r),  dq = ds k,  dk = ds^T q

    (Dao et al., FlashAttention, NeurIPS 2022, appendix B). `of` says which: 0
    for q, 1 for k, 2 for v.

    Constraints: (I1)-(I8), (A1), (A3), (A4), and
    - (A6) The result has the indices of operand `of`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$query,
                       StrAttr:$key, StrAttr:$feature,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       UnitAttr:$causal, OptionalAttr<F64Attr>:$dropout,
                       DefaultValuedAttr<I64Attr, "0">:$seed, I64Attr:$of);
}

//===----------------------------------------------------------------------===//
// Integers: positions, masks, routing
//===----------------------------------------------------------------------===//

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

    Where it writes, its buckets are the positions written to: a first kernel
    links what goes to each, in order, and a second adds along these lists, in
    f32 (f64) whatever the storage. So no two threads write to one place, and
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
           is carried by an integer operand; every other index of the result is
           an operand's.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrArrayAttr:$indices);
  let hasVerifier = 1;
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
                                "getWholeIndices"], [
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
        DeclareOpInterfaceMethods<Tpsp_BucketKernelOpInterface,
                                  ["needsBucketScratch"]>]> {
  let summary = "how many equal integers come before each";
  let description = [{
    For every integer, how many equal ones precede it, in the order of `over`,
    major to minor. It gives tokens their slots at their experts.
    Integers outside [0, `values`) count as -1.

    Constraints: (I1)-(I8), and
    - (T2) One operand; the result has its indices; `over` names some of them,
           each once; `values` is positive.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrArrayAttr:$over,
                       I64Attr:$values);
  let hasVerifier = 1;
}

/// Composites that are placed and differentiated part by part.
class Tpsp_EarlyCompositeOp<string mnemonic, list<string> overridden = []>
    : Tpsp_IndexedOp<mnemonic, overridden, [
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface,
                                  ["decomposesEarly"]>]> {
  let hasVerifier = 1;
}

def Tpsp_EmbeddingOp
    : Tpsp_EarlyCompositeOp<"embedding", ["getIntegerWidth", "getIntegerBound",
                                          "getLinearity"]> {
  let summary = "rows of a table";
  let description = [{
    Operands ids (i32) and table; the result has the indices of ids and those of
    the table but `vocabulary`. An id outside the vocabulary gives zero.

    Constraints: (I1)-(I8), and
    - (B1) Two operands; the table carries `vocabulary`, ids and the result do
           not. Ids are not partial.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$vocabulary);
}

def Tpsp_CrossEntropyOp
    : Tpsp_EarlyCompositeOp<"cross_entropy", ["getIntegerWidth",
                                              "getIntegerBound"]> {
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

def Tpsp_MeanOp : Tpsp_EarlyCompositeOp<"mean", ["getLinearity"]> {
  let summary = "mean over the indices the result lacks";
  let description = [{
    The sum divided by the product of the global extents, once, whatever the
    sharding.

    Constraints: (I1)-(I8), and
    - (G1) One operand.
  }];
}

def Tpsp_DispatchOp
    : Tpsp_EarlyCompositeOp<"dispatch", ["getIntegerWidth", "getIntegerBound",
                                         "introducesIndices"]> {
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
           does; ids carry `choice`, which x and the result lack.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$expert,
                       StrAttr:$slot, StrAttr:$choice);
}

def Tpsp_CombineOp
    : Tpsp_EarlyCompositeOp<"combine", ["getIntegerWidth", "getIntegerBound"]> {
  let summary = "what the experts made of tokens, back to the tokens";
  let description = [{
    Operands ids (i32), weights and v: the mirror of `dispatch`, weighted. The
    result is the sum over `choice` of the weight times v at the token's slot; a
    choice that was dropped contributes nothing.

    Constraints: (I1)-(I8), and
    - (D2) Three operands; v carries `expert` and `slot`, ids carry `choice`, and
           the result lacks all three; weights have the indices of ids.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$expert,
                       StrAttr:$slot, StrAttr:$choice);
}

//===----------------------------------------------------------------------===//
// Dropout
//===----------------------------------------------------------------------===//

def Tpsp_DropoutOp
    : Tpsp_PointwiseOp<"dropout", 1, ["getLinearity", "restrictPositions"],
                       ["getPositionIndices", "getTileOf"]> {
  let summary = "elements zeroed at random, the others scaled up";
  let description = [{
    An element is kept with probability 1 - rate and divided by it. Which ones
    depends on the seed and the element's global position alone (Philox-4x32-10,
    Salmon et al., SC 2011): the same on every mesh, and drawn again in the
    backward pass instead of being stored.

    If the tensor is a part of a larger one, `part` = [blocks, parts, number]
    says which along the index `along`: the larger one is seen as [blocks, parts,
    rest] there, and this is number `number`.

    `tile` says where the tensor's block of an index lies in a longer one.

    Constraints: (I1)-(I8), (P1), (P2), and
    - (P4) 0 <= rate < 1; the operand has the result's indices.
    - (P5) `tile` is of an index of the result and over axes of the mesh, and
           the types are one rank's.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$rate,
                       DefaultValuedAttr<I64Attr, "0">:$seed,
                       OptionalAttr<StrAttr>:$along,
                       OptionalAttr<DenseI64ArrayAttr>:$part,
                       OptionalAttr<Tpsp_TileAttr>:$tile);
}

def Tpsp_DropoutMaskOp
    : Tpsp_PointwiseOp<"dropout_mask", 0, ["introducesIndices",
                                           "getIntegerWidth",
                                           "restrictPositions"],
                       ["getPositionIndices"]> {
  let summary = "the elements that a dropout keeps: 1, the others 0, as i8";
  let description = [{
    Constraints: (I1)-(I8), (P2), and
    - (P4) 0 <= rate < 1.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$rate,
                       DefaultValuedAttr<I64Attr, "0">:$seed,
                       OptionalAttr<StrAttr>:$along,
                       OptionalAttr<DenseI64ArrayAttr>:$part);
}

def Tpsp_ApplyMaskOp
    : Tpsp_PointwiseOp<"apply_mask", 2, ["getLinearity", "getIntegerWidth"]> {
  let summary = "scale * x where the mask (i8) is not 0, else 0";
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, F64Attr:$scale);
}

//===----------------------------------------------------------------------===//
// Views and requests
//===----------------------------------------------------------------------===//

class Tpsp_ViewOp<string mnemonic, list<string> overridden = []>
    : Tpsp_IndexedOp<mnemonic,
        overridden # ["getLinearity", "isView", "getIndexStructure"]> {
  let hasVerifier = 1;
}

def Tpsp_RenameOp : Tpsp_ViewOp<"rename"> {
  let summary = "the same tensor under other index names";
  let description = [{
    Constraints: (I1)-(I3), (I6), (I7), and
    - (V1) One operand; the result has its shape.
  }];
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

    Constraints: (I1)-(I3), (I6), (I7), and
    - (V2) read from result to operand.
  }];
}

def Tpsp_StopGradientOp
    : Tpsp_IndexedOp<"stop_gradient",
                     ["getLinearity", "isView", "stopsGradient"]> {
  let summary = "the operand, as a constant to differentiation";
  let description = [{
    Constraints: (I1)-(I8), and
    - (V3) One operand; the result has its shape and names.
  }];
  let hasVerifier = 1;
}

def Tpsp_ReshardOp : Tpsp_IndexedOp<"reshard", ["getLinearity", "isView"]> {
  let summary = "a placement that the user asks for";
  let description = [{
    The same tensor, placed as the result says. `tpsp-insert-collectives` turns
    it into collectives.

    Constraints: (I1)-(I8), and
    - (V3) One operand; the result has its shape and names.
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Blocks: positions of an index as tensors of their own
//===----------------------------------------------------------------------===//

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

#endif // TPSP_DIALECT_TPSP_OPS_TD
