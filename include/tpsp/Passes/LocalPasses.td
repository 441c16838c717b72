#ifndef TPSP_PASSES_LOCALPASSES_TD
#define TPSP_PASSES_LOCALPASSES_TD

// Passes on the shapes of one rank. docs/reference/Passes.md is generated from
// the descriptions.


include "mlir/Pass/PassBase.td"

def Partition : Pass<"tpsp-partition", "::mlir::ModuleOp"> {
  let summary = "Turn global shapes into one rank's";
  let description = [{
    Verifies once more that every operation agrees with a compute placement that
    needs no communication; an operation that does not is an error. Then it
    gives every tensor the shape of one rank's part.

    Subscripts stay, marked `local`: they say where on the mesh a rank's part
    lies. Collectives over a single rank become renamings, so a mesh `tp = 1`
    runs without collectives. With `keep-trivial` (`tpsp-run --nccl-always
    --emit`) they stay.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def Sweep : Pass<"tpsp-sweep", "::mlir::ModuleOp"> {
  let summary = "Compute attention block by block, with a running softmax";
  let description = [{
    Some operations need an index whole but can process it in blocks
    (`SweptOpInterface`): attention and its gradients, along the keys. This pass
    turns them into a sequence over blocks of at most `attention-block` positions, with
    a state of a row's size
    ([decision 0008](../decisions/0008-running-softmax.md)). So scores of the
    whole index are never in memory. Operations over the same blocks are swept
    together. Runs on local shapes, after `tpsp-decompose-early=attention=blocks`
    (`--attention blocks`).

    Gradients of an attention with a bias are refused. They need the rows'
    statistic, in which a low bias leaves no digits for the logarithm of the
    sum.

    *Rings.* If an index is gathered for such operations only, and their results
    are reduce-scattered among the same ranks, the all-gather becomes a ring of
    `rotate`s. A rank's own tile comes first, then the previous rank's, and so
    on. One `rotate` sends each tile of a gradient to its owner, which adds it
    up. Bytes and rows of the ledger are those of the collectives that the ring
    replaces.

    ```
    tpsp-opt examples/cp-attention.mlir --tpsp-pipeline="grad attention=blocks"
    tpsp-run examples/cp-attention.mlir --grad --verify --attention blocks
    ```

    *Calls.* With `attention=fused` (`--attention fused`,
    [decision 0010](../decisions/0010-attention-in-one-call.md)), attention that
    a library computes in one call stays. It becomes `plan.attention` and
    `plan.attention_gradient`. Other attention is computed in blocks. A call
    needs attention in the form of heads of rows (`matchAttentionHeads`):

    - Features are innermost. After neighbouring indices are merged, at most one
      index of the batch and one of the keys' heads remain. The groups of
      queries' heads lie inside.
    - It has no dropout.
    - For GPUs (`device=cuda`, `for-gpu`) its type has 16 bits, and features are a multiple of
      8 and at most 128. Queries that are divided under a mask must not
      outnumber the keys. It has no bias, and segments and lengths are those of
      samples or, without a batch, of heads.

    Queries may be divided under a mask: the command gives the start of each
    rank's queries
    ([decision 0022](../decisions/0022-a-rank-attends-from-its-own-queries.md)).

    A remark of `tpsp-decompose-early` or `tpsp-sweep` names the missing
    condition (`--remarks-filter='tpsp-.*'`). Attention that is written out as
    einsum, softmax and einsum is not recognised; a warning says so.

    ```
    tpsp-opt examples/gqa.mlir --tpsp-pipeline="grad attention=fused"
    tpsp-run examples/gqa.mlir --grad --verify --attention fused
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect",
                           "::tpsp::plan::PlanDialect"];
}

def BalanceAttention
    : Pass<"tpsp-balance-attention", "::mlir::ModuleOp"> {
  let summary = "Give all ranks the same amount of causal attention";
  let description = [{
    If axes divide the queries, a causal mask leaves the last of n ranks (2n -
    1) / n times the mean work, and the others wait. Queries are seen as 2n
    half-parts, of which rank r has numbers 2r and 2r + 1. It keeps the first,
    and exchanges the second with rank n - 1 - r, whose second is number 2n - 1
    - 2r (`tpsp.mirror`). The starts of its two half-parts then add up to 2n - 1
    on every rank. So each `AttentionOpInterface` becomes two calls on the same
    keys and values, and `tile` says where their queries lie
    ([decision 0024](../decisions/0024-ranks-exchange-halves-of-queries.md)).

    All tensors with rows are halved alike: queries, their segment numbers, a
    bias of rows, the gradient of the result. Halves of results are sent back.
    Results without rows, the gradients of keys and values, are the sums of both
    calls. The statistic, which only attention reads, stays in halves. Several
    axes form one group. No other operation sees another order of positions.

    Runs after `tpsp-sweep`, which leaves attention that a library computes in
    one call. An operation stays as it is, and a missed remark says why, if

    - a rank's rows cannot be halved;
    - the busiest rank gains nothing. With `balance-attention=on` the number
      of scores decides. With `time` it is seconds of the cost model on `hardware`:
      calls, transfers and copies. With a window most ranks have equal work
      already.

    ```
    tpsp-opt examples/cp-attention.mlir --tpsp-pipeline="grad attention=fused balance-attention=on"
    tpsp-run examples/cp-attention.mlir --grad --verify --attention fused --balance-attention on
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect",
                           "::tpsp::plan::PlanDialect"];
}

def DecomposeLate
    : Pass<"tpsp-decompose-late", "::mlir::ModuleOp"> {
  let summary = "Expand the remaining composites into loops";
  let description = [{
    Norms, softmax and rope become pointwise operations, reductions and views on
    local shapes, from which kernels are made.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

#endif // TPSP_PASSES_LOCALPASSES_TD
