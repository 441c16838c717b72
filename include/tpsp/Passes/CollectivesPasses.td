#ifndef TPSP_PASSES_COLLECTIVESPASSES_TD
#define TPSP_PASSES_COLLECTIVESPASSES_TD

// Passes on collectives, on global shapes, and passes that print them.
// docs/reference/Passes.md is generated from the descriptions.


include "mlir/Pass/PassBase.td"

def RingAttention : Pass<"tpsp-ring-attention", "::mlir::ModuleOp"> {
  let summary = "Hand keys around a ring, and call attention for each shard";
  let description = [{
    With `attention=ring` (`--attention ring`), attention does not gather keys
    ([decision 0042](../decisions/0042-a-ring-is-calls-with-statistics.md)). It
    must be one that a library computes in one call, and the same axes must
    divide its queries and its keys. Both indices are split into n shards and positions within them. `hand_on`
    brings a shard the keys and values of the shard before, n - 1 times. Every
    time attention within shards is one call. Calls are merged by their
    statistics, in f32. A gradient has as many calls, each with the result and
    the statistic of all keys. The gradient of a shard's keys is handed back to
    it, and added there.

    *Causal masks.* Shards are balanced before. A shard keeps the first half of
    its positions, and exchanges the second with the mirrored shard, as in
    tpsp-balance-attention. Then its *early* half lies in the first half of the
    sequence, and its *late* half in the second. Keys of another shard need two
    calls for pairs of halves. The late queries see all early keys. Either the
    early queries see the early keys, too, or the late queries see the late
    keys. The shard decides, so operands of the second call are selected. Only
    calls for a shard's own keys have a mask, and all ranks have the same work.

    An attention stays as it is, and a missed remark says why, if

    - no axes divide its queries and its keys alike;
    - it has a bias or lengths, or hides early keys from late queries;
    - it is causal, and a shard's positions have no halves.

    Runs on global shapes, after gradients, rematerialisation and micro-batches,
    which see one operation. Results of parts are unplaced.

    ```
    tpsp-opt examples/cp-attention.mlir --tpsp-explain="attention=ring"
    tpsp-run examples/cp-attention.mlir --grad --verify --attention ring
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def InsertCollectives
    : Pass<"tpsp-insert-collectives", "::mlir::ModuleOp"> {
  let summary = "Make every operation agree with its compute placement";
  let description = [{
    Chooses what each mesh axis drives in every operation, for all operations of
    a phase together
    ([IndexAnalysis](../Design/IndexAnalysis.md#the-function-decides)). Then it
    inserts collectives that bring operands and results to the placements that
    follow from the choice.

    An unplaced result takes the placement that it is computed in, which may be
    partial. So may a result whose placement is only proposed (`tpsp.proposed`),
    and a gradient may stay partial, if that costs less. Summands that are
    partial over the same axes are added first and reduced once. A
    `tpsp.hand_on` of shards becomes a `tpsp.permute`. Each collective carries
    the rule that asked for it (`reason`):

    ```mlir
    tpsp.mesh @mesh <tp = 4 : model>
    !p = tensor<2x128x256xf32, #tpsp.idx<b, s, d | sum@tp>>
    !x = tensor<2x128x256xf32, #tpsp.idx<b, s@tp, d>>
    func.func @after(%0: !p) -> !x {
      %1 = tpsp.reduce_scatter %0 ["tp"] {
             reason = "@tp divides e, which is summed away", tensor = "einsum"
           } : !p -> !x
      return %1 : !x
    }
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def FuseCollectives
    : Pass<"tpsp-fuse-collectives", "::mlir::ModuleOp"> {
  let summary = "Share and fuse collectives where that is always right";
  let description = [{
    Applies only rewrites that are always right: it never adds a collective or a
    byte.

    - *Share.* Users of the same movement of the same tensor share one
      collective, within the forward or the backward pass of one micro-batch.
      Keeping a gathered tensor from one pass for the other is a question of
      memory
      ([decision 0004](../decisions/0004-backward-regathers-by-default.md)).
      With `keep-gathered` the two passes share gathers, too. The reason of such
      a gather says so.
    - *Fuse.* A collective whose only use is another collective becomes the
      direct transition between the outer placements, if that is one movement
      and no dearer. An all-reduce followed by a slice is a reduce-scatter. A
      gather followed by a slice elsewhere is an all-to-all.
    - *Narrow.* A gather moves after the elementwise operations that are its
      only users, as far as that leaves fewer bytes. A parameter in f32 that is
      converted to bf16 is gathered in bf16.
    - *Once a step.* With `gather-weights=step`, a gather of parameters belongs
      to no micro-batch, and serves both passes of all.

    A missed remark reports a gathered tensor that has other uses besides the
    conversion. Another reports an all-reduce and a slice that stay, because an
    operation between them needs the whole tensor.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def NoteGradients : Pass<"tpsp-note-gradients", "::mlir::ModuleOp"> {
  let summary = "Note on collectives whose gradients they move";
  let description = [{
    A collective whose results become gradients of parameters, and have no other
    use, gets the numbers of these arguments (`gradients`). The ledger repeats
    them, so that no reader must guess from a name. With stages and
    micro-batches such a collective is charged once a step.

    Between the collective and the gradient there may be views, conversions,
    sums, and products with parameters. These are operations that are linear and
    the same for every micro-batch. Any other user of a result needs it in every
    micro-batch, so the collective gets no numbers.

    ```mlir
    tpsp.mesh @mesh <dp = 4 : data>
    !p = tensor<8x16xf32, #tpsp.idx<e, d | sum@dp>>
    !w = tensor<8x16xf32, #tpsp.idx<e, d>>
    func.func @f_grad(%w: !w {tpsp.param}, %product: !p)
        -> (!w {tpsp.gradient_of = 0 : i64}) {
      %sum = tpsp.all_reduce %product ["dp"] {gradients = array<i64: 0>}
               : (!p) -> !w
      return %sum : !w
    }
    ```

    Runs after `tpsp-fuse-collectives`, when later passes only merge
    collectives. Removes the marks of `tpsp-compose-step`.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def BucketLayers : Pass<"tpsp-bucket-layers", "::mlir::ModuleOp"> {
  let summary = "One transfer for the weights of a layer";
  let description = [{
    Gathers of a layer's weights become one gather, before the layer's first.
    Reduce-scatters of their gradients become one, after its last. The bytes
    stay, and the latencies are paid once. All weights of a layer are whole at
    the same time, which takes memory.

    A layer is a call of a function, at the outermost level at which calls do
    the same one after another. Weights are arguments that are parameters, and values computed from
    these alone. Transfers are merged if they agree in axes, element type, pass
    (forward or backward) and micro-batch.

    With `bucket-layers=time` transfers are merged if one transfer leaves at least 5 %
    less time exposed than all of them, by the cost model on `hardware`. With
    `overlap` the products of a layer hide as much communication as they take.
    `tpsp-run --bucket-layers` sets the goal. With `time` it takes the proposal
    only if the simulated step is faster.

    Missed remarks report transfers that stay separate: those of no layer, and
    those for which time decides against merging.
  }];
}

def BucketCollectives
    : Pass<"tpsp-bucket-collectives", "::mlir::ModuleOp"> {
  let summary = "Move several tensors in one collective";
  let description = [{
    All-reduces that do not wait for each other become one all-reduce of several
    tensors. So do reduce-scatters of gradients that only an update reads, and
    gathers of new parameters. The bytes stay; the latencies are paid once. A
    summand lives until its bucket's last tensor is ready.

    Each collective joins the bucket of its kind. A kind is the collective, its
    axes, its element type and its reduction. It is also the phase (forward,
    backward or update), and whether an operation of that phase waits for the
    collective. A bucket closes when an operation uses one of its results. It
    also closes when the next tensor would take it beyond `bucket-bytes`, counted in
    what one rank sends or receives. A bucket's collective stands where its last
    tensor is ready, so that later operations can hide it.

    - *Gradients that are only returned* fill buckets in the order in which the
      backward pass computes them.
    - *Others* (a loss's row sums and target logits) join if no user of the
      first stands before the second.
    - A view of a result does not count as a use; views wait with the result.

    The ledger's row names all tensors of a bucket. `tpsp-run --bucket-mib N`
    sets the size.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def PrintExplanation : Pass<"tpsp-print-explanation", "::mlir::ModuleOp"> {
  let summary = "Print a program in sharded einsum notation, with its ledger";
  let description = [{
    Prints to standard output. Every operation is an equation over the tensors
    in their placements. Under it stands every collective (">") that it needs:
    axes, index, bytes per rank, the rule that asked for it, and the source
    line. Totals follow for each phase, kind and axes.

    A collective that only the function's result waits for (a bucket) is listed
    by itself. Every collective is an analysis remark, too.

    Parts of an adjoint are one equation (`g[x] = rms_norm'(...)`). Layers that
    repeat are written once, with their number. Every name means one tensor.

    Best run after `tpsp-bucket-collectives`;
    [`--tpsp-explain`](../Passes.md#explaining-a-program) is the whole pipeline.
  }];
  let options = [
    Option<"notation", "notation", "std::string", "\"subscripts\"",
           "subscripts (z[b, s@tp, d]), explicit (z_{b t0 l d}, with ranges) or "
           "latex (both)">,
    Option<"extents", "extents", "bool", "false",
           "List every tensor with its extents, one rank's, and bytes">,
    Option<"rule", "rule", "bool", "false",
           "List which gradients need collectives by the rule of thumb "
           "must_have_bwd_comms, and which by derivation">,
    Option<"parts", "parts", "bool", "false",
           "Write parts of adjoints as equations of their own">,
    Option<"everyLayer", "every-layer", "bool", "false",
           "Write repeated layers every time">,
    Option<"dtensor", "dtensor", "bool", "false",
           "List every tensor with its placements as PyTorch's DTensor has them">
  ];
}

def PrintGraph : Pass<"tpsp-print-graph", "::mlir::ModuleOp"> {
  let summary = "Print a program as a graph, in Graphviz's language";
  let description = [{
    Prints to standard output. A box is an equation, named by its result and
    operation. A hexagon is a collective with its axes and bytes. A cylinder is
    a parameter, and an ellipse is another argument. Dashed and red lines
    are sums that are pending; red hexagons complete sums. Layers that repeat are
    drawn once, in a frame with their number, as in `tpsp-print-explanation`.

    [`--tpsp-graph`](../Passes.md#a-picture-of-the-graph) is the whole pipeline.
  }];
  let options = [
    Option<"everyLayer", "every-layer", "bool", "false",
           "Draw repeated layers every time">
  ];
}

def PrintFormulas : Pass<"tpsp-print-formulas", "::mlir::ModuleOp"> {
  let summary = "Print collectives, products and memory as polynomials";
  let description = [{
    Prints to standard output. For every function it lists the number and the
    bytes of its collectives and the FLOPs of its products. Then come its
    parameters, gradients, optimizer's state and saved activations. Each is a
    polynomial in the names of the program's indices and axes, followed by its
    value.

    An index and its renamings share one name. A merged or split index is the
    product of its parts. An index of several extents is printed as numbers. L
    is the number of calls of a function, which are layers. Work absent from the
    first or last layer is counted L - 1 times; with two layers that is a guess.

    Divisions are exact if axes divide extents. The ring algorithm's bytes are
    rounded down for each tensor.

    Best run after `tpsp-fuse-collectives` and before buckets;
    [`--tpsp-formulas`](../Passes.md#formulas) is the whole pipeline.
  }];
}

#endif // TPSP_PASSES_COLLECTIVESPASSES_TD
