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

    Constraints: (I1)-(I7), and
    - (E1) One or two operands.
  }];
  let hasVerifier = 1;
}

def Tpsp_ReduceOp : Tpsp_LoopOp<"reduce", ["getLinearity", "getReduction"]> {
  let summary = "sum or maximum over the indices the result lacks";
  let description = [{
    `kind` is "sum" or "max".

    Constraints: (I1)-(I7), and
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

    Constraints: (I1)-(I7), and
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

def Tpsp_BroadcastOp
    : Tpsp_PointwiseOp<"broadcast", 1, ["getLinearity", "introducesIndices"]>;

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

    Constraints: (I1)-(I7), (P1), (P2), and
    - (P3) `of` names a scalar function.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$of);
}

def Tpsp_CausalMaskOp
    : Tpsp_PointwiseOp<"causal_mask", 1, [], ["getPositionIndices"]> {
  let summary = "the operand where position(key) <= position(query), else fill";
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$query,
                       StrAttr:$key, F64Attr:$fill);
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

    Constraints: (I1)-(I7), and
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

    Constraints: (I1)-(I7), and
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

    Constraints: (I1)-(I7), and
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

    Constraints: (I1)-(I7), and
    - (O1) One operand; the result has its indices.
    - (O2) `position` and `feature` are indices of the operand, and differ; the
           extent of `feature` is even.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$position,
                       StrAttr:$feature,
                       DefaultValuedAttr<F64Attr, "10000.0">:$theta,
                       UnitAttr:$inverse);
}

def Tpsp_AttentionOp
    : Tpsp_IndexedOp<"attention", ["getWholeIndices", "getIndexStructure"], [
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface,
                                  ["decomposesEarly"]>]> {
  let summary = "scaled dot-product attention";
  let description = [{
    Operands q, k, v. scores = scale * sum over `feature` of q k; softmax over
    `key`; the weighted sum of v. Indices of q that k lacks (grouped queries,
    after an index split) share keys and values.

    ```mlir
    %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
           causal, scale = 0.08838834764831845}
       : (!q /*b,s,h,r,k*/, !k /*b,t,h,k*/, !k) -> !q
    ```

    Constraints: (I1)-(I7), and
    - (A1) q carries `query` and `feature` but not `key`; k carries `key` and
           `feature` but not `query`; v carries `key` but not `query`.
    - (A2) The result carries `query` but not `key`.
    - (A3) Every index of k and v but `key` is one of q's, save v's own feature.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$query,
                       StrAttr:$key, StrAttr:$feature,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       UnitAttr:$causal);
  let hasVerifier = 1;
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

def Tpsp_ReshardOp : Tpsp_IndexedOp<"reshard", ["getLinearity", "isView"]> {
  let summary = "a placement that the user asks for";
  let description = [{
    The same tensor, placed as the result says. `tpsp-insert-collectives` turns
    it into collectives.

    Constraints: (I1)-(I7), and
    - (V3) One operand; the result has its shape and names.
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Blocks: positions of an index as tensors of their own
//===----------------------------------------------------------------------===//

class Tpsp_BlockOp<string mnemonic, list<string> overridden = []>
    : Tpsp_IndexedOp<mnemonic,
        overridden # ["getLinearity", "getWholeIndices"], [
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

    Constraints: (I1)-(I7), and
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

    Constraints: (I1)-(I7), and
    - (B3) One or more operands of the same indices; the result has these and
           `index`, with as many positions as there are operands.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$index);
}

#endif // TPSP_DIALECT_TPSP_OPS_TD
