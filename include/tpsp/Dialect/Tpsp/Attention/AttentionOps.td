#ifndef TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONOPS_TD
#define TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONOPS_TD

// Attention, and its gradient.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"
include "mlir/IR/OpAsmInterface.td"

class Tpsp_AttentionBaseOp<string mnemonic, list<string> overridden = [],
                           list<string> ofCall = [], list<Trait> traits = []>
    : Tpsp_IndexedOp<mnemonic,
        overridden # ["getWholeIndices", "restrictPositions",
                      "mixesPrecision", "getIntegerWidth", "getIntegerBound"],
        traits # [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
        DeclareOpInterfaceMethods<Tpsp_SweptOpInterface, ["finishSweep"]>,
        DeclareOpInterfaceMethods<Tpsp_RandomOpInterface>,
        DeclareOpInterfaceMethods<Tpsp_AttentionOpInterface, ofCall>]> {
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$query,
                       StrAttr:$key, StrAttr:$feature,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       UnitAttr:$causal, OptionalAttr<F64Attr>:$dropout,
                       DefaultValuedAttr<I64Attr, "0">:$seed,
                       OptionalAttr<I64Attr>:$window,
                       OptionalAttr<F64Attr>:$softcap,
                       OptionalAttr<Tpsp_TileAttr>:$tile);
  let hasVerifier = 1;
}

def Tpsp_AttentionOp
    : Tpsp_AttentionBaseOp<"attention", ["withAdjointResults", "inferIndices"], [], [
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface,
                                  ["decomposesEarly"]>]> {
  let summary = "scaled dot-product attention";
  let description = [{
    Operands q, k, v, and what may follow them: a bias, segment numbers of the
    queries and of the keys, lengths, the step's number. Which is which, their
    types say. One tensor of i32 is lengths, two are segment numbers, three both.

        score = cap(scale * sum over `feature` of q k) + bias

    with cap(x) = `softcap` tanh(x / `softcap`), if it is given. The result is
    the weighted sum of v, by the softmax of the scores over `key`. `dropout` is
    the rate of a dropout of the weights, by `seed` and the step's number.

    With `causal` a query sees no later key. With `window` it sees, besides, no
    key that lies `window` positions or more before it. With segment numbers (of
    i32: documents in one row) it sees keys of its own segment alone. With
    lengths (of i32) it sees the first keys alone, as many as its length says:
    rows are shorter, or a cache is not full. It sees none if that is negative,
    all if it is beyond their extent. A bias (of positions, of padding) lacks the
    indices that it is the same along. One of minus infinity hides the key. Any
    other is a number that is added, however low. Nothing else hides a key. A
    query that sees none has zeros, and nothing has a gradient through it.

    Indices of q that k lacks (grouped queries, after an index split) share keys
    and values.

    ```mlir
    %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
           causal, scale = 0.08838834764831845}
       : (!q /*b,s,h,r,k*/, !k /*b,t,h,k*/, !k) -> !q
    ```

    A second result, if there is one, is the statistic of every row of scores.
    That is the log of the sum over `key` of exp(score). exp(score - statistic)
    are the weights before dropout. It is minus infinity, the log of 0, where a
    query sees no key. Differentiation asks for it.

    Constraints: (I1)-(I8), and
    - (A1) q carries `query` and `feature` but not `key`; k carries `key` and
           `feature` but not `query`; v carries `key` but not `query`.
    - (A2) The result carries `query` and every other index of the queries but
           `feature`, and of the values but `key`.
    - (A3) Every index of k and v but `key` is one of q's, save v's own feature.
    - (A4) 0 <= dropout < 1; scale is positive; the step's number, if given, has
           no index.
    - (A5) The statistic has the queries' indices but `feature`, in their order
           but `query` last, in f32 (f64 for f64).
    - (A7) `window` is at least 1, goes with `causal`, and there are no more
           queries than keys; `softcap` is positive.
    - (A8) A bias has indices of a row of scores and `key`, no others, and q's
           type.
    - (A9) Segment numbers are two tensors of i32. The queries' has `query`, the
           keys' `key`; other indices are those of q and k but `feature`.
    - (A10) `tile` is of `query` and over axes of the mesh, and the types are one
           rank's. No rank's tile begins before the first query.
    - (A11) Lengths have indices that both q and k have, but not `feature`.

    `tile` says which queries of a longer index these are, where subscripts do
    not: `tpsp-balance-attention` sets it. Only a library's call has one.

    It is taken apart before it is placed, or kept whole. If kept, it is done
    block by block (`tpsp-sweep`) or by a library in one call.
  }];
  let results = (outs Tpsp_Tensor:$result, Optional<Tpsp_Tensor>:$statistic);
  let extraClassDeclaration = [{
    /// Whether a window hides keys: a long one does not where rows are known.
    bool hidesByWindow();
    /// q, k and v.
    static constexpr unsigned numTensors = 3;
    /// The step's number, if it is there.
    ::mlir::ValueRange getStep() {
      return ::tpsp::attentionStep(getInputs(), numTensors);
    }
  }];
  let hasCanonicalizeMethod = 1;
}

def Tpsp_AttentionGradientOp
    : Tpsp_AttentionBaseOp<"attention_gradient", [], ["isGradient"]> {
  let summary = "attention's gradients with respect to its operands";
  let description = [{
    Operands q, k, v, attention's result o, its statistic, g, the gradient of o,
    and what attention has behind v. With a bias the statistic is not read: a low
    bias leaves nothing of the logarithm in it. Let w be the weights, p what
    dropout leaves of them, and d what it leaves of the product of g and v. Let r
    be of every row the sum of g times o, and c the slope of `softcap` (1
    without):

        dv = p^T g,  dz = w (d - r),  ds = scale c dz,  dq = ds k,  dk = ds^T q

    (Dao et al., FlashAttention, NeurIPS 2022, appendix B). The results are dq,
    dk and dv and, if there are four, the bias's: the sum of dz.

    Constraints: (I1)-(I8), (A1), (A3)-(A5), (A7)-(A11), and
    - (A6) The results have the indices of q, k, v and the bias; g has those of
           o.
  }];
  let results = (outs Tpsp_Tensor:$gq, Tpsp_Tensor:$gk, Tpsp_Tensor:$gv,
                      Optional<Tpsp_Tensor>:$gbias);
  let extraClassDeclaration = [{
    /// q, k, v, o, the statistic and g.
    static constexpr unsigned numTensors = 6;
    /// The step's number, if it is there.
    ::mlir::ValueRange getStep() {
      return ::tpsp::attentionStep(getInputs(), numTensors);
    }
  }];
}

#endif // TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONOPS_TD
