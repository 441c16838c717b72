#ifndef TPSP_DIALECT_TPSP_ATTENTIONOPS_TD
#define TPSP_DIALECT_TPSP_ATTENTIONOPS_TD

// Attention and what the compiler makes of it.
include "tpsp/Dialect/Tpsp/OpBase.td"

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

#endif // TPSP_DIALECT_TPSP_ATTENTIONOPS_TD
