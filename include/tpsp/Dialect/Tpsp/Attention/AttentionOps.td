#ifndef TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONOPS_TD
#define TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONOPS_TD

// Attention and its gradient.
include "tpsp/Dialect/Tpsp/IR/OpBase.td"
include "tpsp/Dialect/Tpsp/IR/ScoreAttributes.td"
include "mlir/IR/OpAsmInterface.td"

defvar Tpsp_OptionalOperands = [{
    /// The operands after the tensors.
    ::tpsp::OptionalOperands getOptional() {
      return ::tpsp::optionalOperands(getInputs(), numTensors, getQuery(),
                                     getKey());
    }
    /// The step's number; empty if absent.
    ::mlir::ValueRange getStep() { return getOptional().step; }
}];

class Tpsp_AttentionBaseOp<string mnemonic, list<string> overridden = [],
                           list<string> ofCall = [], list<Trait> traits = []>
    : Tpsp_IndexedOp<mnemonic,
        overridden # ["getWholeIndices", "restrictPositions",
                      "getIntegerWidth", "getIntegerBound"],
        traits # [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
        DeclareOpInterfaceMethods<Tpsp_SweptOpInterface, ["finishSweep"]>,
        DeclareOpInterfaceMethods<Tpsp_RandomOpInterface>,
        DeclareOpInterfaceMethods<Tpsp_AttentionOpInterface, ofCall>]> {
  let arguments = !con((ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$query,
                            StrAttr:$key, StrAttr:$feature,
                            DefaultValuedAttr<F64Attr, "1.0">:$scale),
                       Tpsp_ScoreOptions,
                       (ins OptionalAttr<F64Attr>:$dropout,
                            DefaultValuedAttr<I64Attr, "0">:$seed,
                            OptionalAttr<Tpsp_TileAttr>:$tile,
                            OptionalAttr<StrAttr>:$shard));
  let hasVerifier = 1;
}

def Tpsp_AttentionOp
    : Tpsp_AttentionBaseOp<"attention",
        ["withAdjointResults", "inferIndices", "mixesPrecision"],
        ["takeOutSink"], [
        Tpsp_DecomposesEarly,
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface,
                                  ["mayReadNeighbours", "readsNeighbours",
                                   "decomposeIntoShards"]>]> {
  let summary = "scaled dot-product attention";
  let description = [{
    Operands are q, k and v. Optional operands follow in this order: a bias, a
    sink, segment numbers of the queries and of the keys, lengths, and the
    step's number. Types tell them apart. Numbers with the index `query` or
    `key` are a bias, and numbers with other indices are a sink. A single tensor
    of i32 is lengths, two are segment numbers, three are both.

        score = cap(scale * sum over `feature` of q k) + bias

    with cap(x) = `softcap` tanh(x / `softcap`) if it is given. The result is
    the sum of v, weighted by the softmax of the scores over `key`. `dropout` is
    the rate at which weights are dropped, by `seed` and the step's number.

    With `causal` a query sees no later key. With `window` it also sees no key
    that lies `window` positions or more before it. With `chunk` it sees only
    keys of its own chunk: position / `chunk`, rounded down, is the same. With
    segment numbers (i32: documents in one row) it sees only keys of its own
    segment. With lengths
    (i32) it sees only the first keys, as many as its length says, because rows
    are shorter or a cache is not full. It sees no key if the length is
    negative, and all keys if it exceeds their extent. A bias (of positions, of
    padding) may lack indices along which it is constant. A bias of minus
    infinity hides the key. Any other bias is a number that is added, however
    low. Nothing else hides a key. The result of a query that sees no key is
    zeros, and no gradient passes through it.

    A sink (usually one number for each head) is the score of one more key that
    every query sees and whose value is zeros. So it takes part in the softmax,
    but not in the sum: the weights of a row add up to less than 1. It is
    neither scaled nor capped. It has a gradient.

    Queries that differ only in indices that k lacks share keys and values
    (grouped queries, after an index split).

    ```mlir
    %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
           causal, scale = 0.08838834764831845}
       : (!q /*b,s,h,r,k*/, !k /*b,t,h,k*/, !k) -> !q
    ```

    The optional second result is the statistic of every row of scores: the log
    of the sum over `key` of exp(score). The weights before dropout are
    exp(score - statistic). A sink counts as a key. The statistic of a query
    that sees no key is its sink, or minus infinity (the log of 0) if it has
    none. Differentiation requests the statistic.

    Constraints: (I1)-(I8), and
    - (A1) q carries `query` and `feature` but not `key`; k carries `key` and
           `feature` but not `query`; v carries `key` but not `query`.
    - (A2) The result carries `query` and every other index of the queries but
           `feature`, and of the values but `key`.
    - (A3) Every index of k and v but `key` is one of q's, save v's own feature.
    - (A4) 0 <= dropout < 1; scale is positive; the step's number, if given, has
           no index and goes with dropout.
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
    - (A12) `shard` is an index of q, k and v. It goes with `causal` and neither
            a bias nor lengths, and there are at least as many keys as queries.
    - (A13) A sink has indices of q, but not `feature`, and q's type. Attention
            with a bias and a sink has no statistic.
    - (A14) `chunk` is at least 1, goes with `causal` and without `shard`, and
            there are no more queries than keys.

    `tile` says which queries of a longer index these are, if subscripts do not.
    `tpsp-balance-attention` sets it. Only an attention that becomes a library
    call has one.

    `shard` names an index of shards of queries and keys. Each shard has its own
    queries, and keys before them that other shards handed on. Its last key is
    at the position of its last query. Keys before the first shard's first query
    are hidden. `tpsp-propagate` sets it where axes divide the queries of a
    window.

    Attention is decomposed before it is placed, or kept whole. If kept, it is
    computed block by block (`tpsp-sweep`) or by a library in one call.
  }];
  let results = (outs Tpsp_Tensor:$result, Optional<Tpsp_Tensor>:$statistic);
  let extraClassDeclaration = Tpsp_OptionalOperands # [{
    /// Whether early keys are hidden from late queries. A window that is as long
    /// as the rows hides none, as far as their extents are known.
    bool hidesEarlyKeys();
    /// q, k and v.
    static constexpr unsigned numTensors = 3;
  }];
  let hasCanonicalizeMethod = 1;
}

def Tpsp_AttentionGradientOp
    : Tpsp_AttentionBaseOp<"attention_gradient", [], ["isGradient"],
                           [Tpsp_MixesPrecision]> {
  let summary = "the gradients of attention with respect to its operands";
  let description = [{
    Operands are q, k, v, attention's result o, its statistic and the gradient g
    of o. The optional operands of the attention follow, but no sink, because o
    and the statistic contain it. With a bias the statistic is not read, because
    rounding it after a low bias would lose the logarithm. Let w be the weights
    and p the weights after dropout. Let d be the product of g and v after
    dropout. Let r be the sum of g times o for each row, and c the slope of
    `softcap` (1 without it):

        dv = p^T g,  dz = w (d - r),  ds = scale c dz,  dq = ds k,  dk = ds^T q

    (Dao et al., FlashAttention, NeurIPS 2022, appendix B). The results are dq,
    dk and dv. The optional fourth is the bias's gradient, a sum of dz.

    Constraints: (I1)-(I8), (A1), (A3)-(A5), (A7)-(A14), and
    - (A6) The results have the indices of q, k, v and the bias; g has those of
           o.
  }];
  let results = (outs Tpsp_Tensor:$gq, Tpsp_Tensor:$gk, Tpsp_Tensor:$gv,
                      Optional<Tpsp_Tensor>:$gbias);
  let extraClassDeclaration = Tpsp_OptionalOperands # [{
    /// q, k, v, o, the statistic and g.
    static constexpr unsigned numTensors = 6;
  }];
}

#endif // TPSP_DIALECT_TPSP_ATTENTION_ATTENTIONOPS_TD
