#ifndef TPSP_DIALECT_TPSP_OPERATIONS_ROWOPS_TD
#define TPSP_DIALECT_TPSP_OPERATIONS_ROWOPS_TD

// Rows: operations that need an index unsharded.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"

/// How rope slows down pairs that turn rarely over the context that a model was
/// trained on.
defvar Tpsp_RopeScaling = (ins DefaultValuedAttr<F64Attr, "1.0">:$stretch,
                               DefaultValuedAttr<F64Attr, "0.0">:$trained,
                               DefaultValuedAttr<F64Attr, "0.0">:$slow_turns,
                               DefaultValuedAttr<F64Attr, "0.0">:$fast_turns,
                               UnitAttr:$log_turns);

def Tpsp_RopeMatrixOp
    : Tpsp_PointwiseOp<"rope_matrix", 0, [], ["getPositionIndices"],
                       [Tpsp_IntroducesIndices], hasAdjoint=0> {
  let summary = "the rotations of rotary embeddings";
  let description = [{
    R[position, out, in, feature] is a 2x2 rotation [[cos, -sin], [sin, cos]]
    for every position and feature pair. The angle is position * theta^(-feature
    / pairs), negated if `inverse`. `stretch` and the attributes after it are
    those of `rope`.
  }];
  let arguments = !con((ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$position,
                            StrAttr:$feature, StrAttr:$out, StrAttr:$in,
                            F64Attr:$theta, I64Attr:$pairs, UnitAttr:$inverse),
                       Tpsp_RopeScaling);
}

class Tpsp_RowOp<string mnemonic, list<string> overridden, list<Trait> facts>
    : Tpsp_IndexedOp<mnemonic, overridden # ["getWholeIndices"], [
        Tpsp_KeepsIndices,
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface>] # facts> {
  let hasVerifier = 1;
}

/// Row operations whose statistics are reduced while the rest is pointwise.
class Tpsp_ReducedRowOp<string mnemonic, list<string> overridden = []>
    : Tpsp_RowOp<mnemonic, overridden, [Tpsp_ReducesRows]>;

def Tpsp_SoftmaxOp
    : Tpsp_ReducedRowOp<"softmax", ["restrictPositions"]> {
  let summary = "softmax over one index";
  let description = [{
    y = exp(scale x) / sum over `over` of exp(scale x). With `causal`, positions
    of `over` beyond the position of the index `causal` are left out.

    With `hides`, elements of minus infinity are hidden: they are left out. A
    row whose elements are all hidden gives zeros. (Without `hides` it gives
    NaN.)

    A second operand is the sink: exp(sink) is one more term of every row's sum.
    It is not scaled.

    Constraints: (I1)-(I8), and
    - (S1) The operands are x and perhaps a sink; the result has x's indices.
    - (S2) `over` and `causal` are indices of x, and differ; `scale` is positive.
    - (S3) A sink has indices of x, but not `over`.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$over,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       OptionalAttr<StrAttr>:$causal, UnitAttr:$hides);
  let extraClassDeclaration = [{
    /// A term of every row's sum; null if absent.
    ::mlir::Value getSink() {
      return getInputs().size() > 1 ? ::mlir::Value(getInputs()[1])
                                    : ::mlir::Value();
    }
  }];
}

def Tpsp_RmsNormOp : Tpsp_ReducedRowOp<"rms_norm"> {
  let summary = "root-mean-square norm over the gain's indices";
  let description = [{
    y = x / sqrt(mean(x^2) + eps) * gain, the mean over the indices of `gain`.

    Constraints: (I1)-(I8), and
    - (L1) The operands are x, gain (and bias). The result has x's indices;
           gain and bias have the same non-empty part of them. `eps` is not
           negative, and is a number of the type in which the norm is computed.
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs,
                       DefaultValuedAttr<F64Attr, "1e-5">:$eps);
}

def Tpsp_LayerNormOp : Tpsp_ReducedRowOp<"layer_norm"> {
  let summary = "layer norm over the gain's indices";
  let description = [{
    y = (x - mean(x)) / sqrt(var(x) + eps) * gain + bias, the mean and the
    (biased) variance over the indices of `gain`.

    Constraints: (I1)-(I8), (L1).
  }];
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs,
                       DefaultValuedAttr<F64Attr, "1e-5">:$eps);
}

def Tpsp_RopeOp
    : Tpsp_RowOp<"rope", ["restrictPositions"], [Tpsp_LinearJointly]> {
  let summary = "rotary position embedding, the rotate-half form";
  let description = [{
    Rotates pairs of elements: m with m + K/2 of `feature` (extent K). Each pair
    turns by position * f with f = theta^(-2m/K), by the negative angle if
    `inverse`.

    `stretch` divides f. With `trained`, pairs that turn often keep their f. A
    pair turns n = trained f / 2 pi times over `trained` positions. If n is at
    most `slow_turns`, f is divided by `stretch`; if n is at least `fast_turns`,
    f stays. Between the two f is a mixture that is linear in n, or in log n
    with `log_turns`.

    Constraints: (I1)-(I8), and
    - (O1) One operand; the result has its indices.
    - (O2) `position` and `feature` are indices of the operand, and differ; the
           extent of `feature` is even.
    - (O3) `stretch` is positive; `trained`, `slow_turns` and `fast_turns` are
           all 0, or positive with `slow_turns` < `fast_turns`.
  }];
  let arguments = !con((ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$position,
                            StrAttr:$feature,
                            DefaultValuedAttr<F64Attr, "10000.0">:$theta,
                            UnitAttr:$inverse),
                       Tpsp_RopeScaling);
}

#endif // TPSP_DIALECT_TPSP_OPERATIONS_ROWOPS_TD
