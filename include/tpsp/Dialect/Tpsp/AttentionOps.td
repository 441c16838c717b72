#ifndef TPSP_DIALECT_TPSP_ATTENTIONOPS_TD
#define TPSP_DIALECT_TPSP_ATTENTIONOPS_TD

// Attention, and its gradient.
include "tpsp/Dialect/Tpsp/OpBase.td"
include "mlir/IR/OpAsmInterface.td"

class Tpsp_AttentionBaseOp<string mnemonic, list<string> overridden = [],
                           list<string> ofCall = [], list<Trait> traits = []>
    : Tpsp_IndexedOp<mnemonic,
        overridden # ["getWholeIndices", "restrictPositions",
                      "mixesPrecision"], traits # [
        DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
        DeclareOpInterfaceMethods<Tpsp_SweptOpInterface, ["finishSweep"]>,
        DeclareOpInterfaceMethods<Tpsp_RandomOpInterface>,
        DeclareOpInterfaceMethods<Tpsp_AttentionOpInterface, ofCall>]> {
  let arguments = (ins Variadic<Tpsp_Tensor>:$inputs, StrAttr:$query,
                       StrAttr:$key, StrAttr:$feature,
                       DefaultValuedAttr<F64Attr, "1.0">:$scale,
                       UnitAttr:$causal, OptionalAttr<F64Attr>:$dropout,
                       DefaultValuedAttr<I64Attr, "0">:$seed);
  let hasVerifier = 1;
}

def Tpsp_AttentionOp
    : Tpsp_AttentionBaseOp<"attention", ["withAdjointResults"], [], [
        DeclareOpInterfaceMethods<Tpsp_DecomposableOpInterface,
                                  ["decomposesEarly"]>]> {
  let summary = "scaled dot-product attention";
  let description = [{
    Operands q, k, v. scores = scale * sum over `feature` of q k; softmax over
    `key`; dropout of the weights, if `dropout` gives a rate, by `seed` and, if
    it is a fourth operand, the step's number; the weighted sum of v. Indices of q that k lacks (grouped queries, after an
    index split) share keys and values.

    ```mlir
    %o = tpsp.attention %q, %k, %v {query = "s", key = "t", feature = "k",
           causal, scale = 0.08838834764831845}
       : (!q /*b,s,h,r,k*/, !k /*b,t,h,k*/, !k) -> !q
    ```

    A second result, if there is one, is the statistic of every row of scores:
    the log of the sum over `key` of exp(score). exp(score - statistic) are the
    weights before dropout. Differentiation asks for it.

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

    It is taken apart before it is placed, or kept whole. If kept, it is done
    block by block (`tpsp-sweep`) or by a library in one call.
  }];
  let results = (outs Tpsp_Tensor:$result, Optional<Tpsp_Tensor>:$statistic);
  let extraClassDeclaration = [{
    /// The step's number, if it is there.
    ::mlir::ValueRange stepOperand() {
      return ::mlir::ValueRange(getInputs()).drop_front(3);
    }
  }];
  let hasCanonicalizeMethod = 1;
}

def Tpsp_AttentionGradientOp
    : Tpsp_AttentionBaseOp<"attention_gradient", [], ["isGradient"]> {
  let summary = "attention's gradients with respect to its operands";
  let description = [{
    Operands q, k, v, attention's result o, its statistic, g, the gradient of o,
    and the step's number if attention has it. With w the weights, p what dropout leaves of them, d what it leaves of
    the product of g and v, and r of every row the sum of g times o:

        dv = p^T g,  ds = scale w (d - r),  dq = ds k,  dk = ds^T q

    (Dao et al., FlashAttention, NeurIPS 2022, appendix B). The results are dq,
    dk and dv.

    Constraints: (I1)-(I8), (A1), (A3), (A4), (A5), and
    - (A6) The results have the indices of q, k and v; g has those of o.
  }];
  let results = (outs Tpsp_Tensor:$gq, Tpsp_Tensor:$gk, Tpsp_Tensor:$gv);
  let extraClassDeclaration = [{
    /// The step's number, if it is there.
    ::mlir::ValueRange stepOperand() {
      return ::mlir::ValueRange(getInputs()).drop_front(6);
    }
  }];
}

#endif // TPSP_DIALECT_TPSP_ATTENTIONOPS_TD
