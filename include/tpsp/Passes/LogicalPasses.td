#ifndef TPSP_PASSES_LOGICALPASSES_TD
#define TPSP_PASSES_LOGICALPASSES_TD

// Passes on global shapes, before collectives. docs/reference/Passes.md is
// generated from the descriptions.


include "mlir/Pass/PassBase.td"

def SetMesh : Pass<"tpsp-set-mesh", "::mlir::ModuleOp"> {
  let summary = "Give axes of the module's mesh other sizes";
  let description = [{
    Changes only sizes: names, roles and the order of the axes stay. An axis
    that the mesh lacks is an error.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def SetExtents : Pass<"tpsp-set-extents", "::mlir::ModuleOp"> {
  let summary = "Give indices of the program other extents";
  let description = [{
    Changes only types: those of every tensor with the index, in every function.
    An index that is renamed (`tpsp.rename`) changes with its other names,
    because they have one extent.

    It is an error if the program lacks an index, or has it in several extents.
    A number that was written for the old extent is an error, too. It is a
    `scale` of scores (or a `factor`) that is a power of the old extent, or a
    `tpsp.below` beyond the new one. Verifiers check that products of extents
    and axes still fit.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def SetPadding : Pass<"tpsp-set-padding", "::mlir::ModuleOp"> {
  let summary = "Say with which larger extents indices are to run";
  let description = [{
    A named index gets the next multiple of its number, as do the indices that
    it is renamed to. If the index is split or merged, the major part changes
    with it. With h = 12 to 16, e = (h, k) changes from 768 to 1024. The extents
    are written to the module (`tpsp.padding = {v = 50264}`), and types stay as
    they are. From here on axes need to divide the larger extents (I3).

    It is an error if the program lacks an index, or has it in several extents.
    A minor part of a merged index is an error, too: positions of the merged
    index would move.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def SetElementType : Pass<"tpsp-set-element-type", "::mlir::ModuleOp"> {
  let summary = "Store all floating-point tensors in another type";
  let description = [{
    Changes only storage. Arithmetic within kernels and sums of products stay in
    f32 (f64 for f64).
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def NameValues : Pass<"tpsp-name-values", "::mlir::ModuleOp"> {
  let summary = "Give values the names that the source file has for them";
  let description = [{
    The parser keeps line numbers but not the names of SSA values. This pass
    reads the names from the source file again and stores them as named
    locations, so that the ledger can say `%xn`. If the file cannot be read,
    values stay unnamed.
  }];
}

def CheckProgram : Pass<"tpsp-check-program", "::mlir::ModuleOp"> {
  let summary = "Reject modules that are not programs; warn of likely mistakes";
  let description = [{
    Runs before calls are inlined, so that each function is reported once.

    Errors are operations of other dialects than tpsp, calls of functions
    without a body, and recursion. So are a module within the module, and a
    module without a function.

    A warning is given for an index that only one of several operands of an
    einsum carries. Such an index is summed over. A misspelt index would be,
    too, and the result would silently be wrong.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def AssignStages : Pass<"tpsp-assign-stages", "::mlir::ModuleOp"> {
  let summary = "Say which chunk of layers every operation belongs to";
  let description = [{
    An axis of role `stage` divides a program's layers, which are its calls, into
    chunks. Every other operation belongs to the first chunk that uses its result.
    The number is `chunk` of `tpsp.origin`, and later passes hand it on to what they
    make. A program without such an axis is left alone.

    ```
    tpsp-opt examples/gpt-pipeline.mlir --tpsp-assign-stages
    ```
  }];
}

def SeedCalls : Pass<"tpsp-seed-calls", "::mlir::ModuleOp"> {
  let summary = "Give every call of a function its own dropout seeds";
  let description = [{
    The seed of a dropout decides which elements it keeps. A layer that is
    called 32 times would drop the same elements each time.

    Runs before calls are inlined. The first call keeps the function. Every
    further call of a function that draws gets a copy. The copy's seeds are the
    program's, with the number of the call in the upper 32 bits. Calls are
    counted over the whole program, in the order of execution.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def InlineCalls : Pass<"tpsp-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Replace calls by the bodies of their functions";
  let description = [{
    A program becomes one list of operations. An operation's location says where
    it was written and which calls it was inlined from, so that layers can still
    be told apart. Private functions are removed.

    The time is linear in the size of the result. MLIR's own inliner moves all
    later operations at every call, which is quadratic in the repetitions of a
    layer.

    ```
    tpsp-opt examples/llama3-8b-block.mlir --tpsp-inline-calls
    ```
  }];
}

def StopDrawing : Pass<"tpsp-stop-drawing", "::mlir::ModuleOp"> {
  let summary = "Make every dropout keep every element";
  let description = [{
    Models are evaluated and used without dropout. `tpsp-run --dropout off` and
    the evaluations of `tpsp-train` run this pass.

    ```
    tpsp-opt examples/gpt-block-dropout.mlir --tpsp-stop-drawing
    ```
  }];
}

def FreezeInputs : Pass<"tpsp-freeze-inputs", "::mlir::ModuleOp"> {
  let summary = "Mark inputs as constants to differentiation";
  let description = [{
    Marks every floating-point argument that is not a parameter as
    `tpsp.frozen`: [why, and when](../Inputs.md#gradients-of-inputs).

    ```
    tpsp-opt examples/mlp-sp.mlir --tpsp-freeze-inputs --tpsp-explain
    ```
  }];
}

def BoundIntegers : Pass<"tpsp-bound-integers", "::mlir::ModuleOp"> {
  let summary = "Find the range of integer arguments from their uses";
  let description = [{
    Token ids and similar integers are positions along an index. An argument of
    integers without `tpsp.below = N` gets the smallest extent that its uses
    require. An argument without `tpsp.data` that labels elements
    (`label_mask`) gets `tpsp.data = "labels"`: its integers may be negative.
    Only drivers, which draw or read arguments, need either.
  }];
}

def InitializeArguments
    : Pass<"tpsp-initialize-arguments", "::mlir::ModuleOp"> {
  let summary = "Find the distribution of random parameters from their uses";
  let description = [{
    A parameter without `tpsp.mean` or `tpsp.deviation` gets values that models
    commonly begin with. They depend on its uses in the program
    ([the table](../Inputs.md#what-is-made-up)). Only drivers that draw
    arguments at random need them.

    - Before: `%w {tpsp.param = "w"}`.
    - After:
      `%w {tpsp.deviation = 0.125 : f64, tpsp.mean = 0.0 : f64, tpsp.param = "w"}`.

    Uses are followed through views, copies of blocks, collectives, and linear
    operations of one operand. For a composite, its parts are built, inspected
    and removed. Values that the program gives stay.

    ```
    tpsp-opt examples/gpt-block-sp.mlir --inline --tpsp-initialize-arguments
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def DecomposeEarly
    : Pass<"tpsp-decompose-early", "::mlir::ModuleOp"> {
  let summary = "Expand composites whose parts are placed one by one";
  let description = [{
    Before: attention. After: two einsums and a softmax, unplaced.

    A composite is decomposed here if its parts are better placed and
    differentiated one by one (`decomposesEarly`). Composites that keep their
    index structure (norms, softmax, rope) wait for `tpsp-decompose-late`.

    - With `attention=blocks`, operations that can process an index block by block
      wait for `tpsp-sweep`.
    - With `attention=fused`, operations that a library computes in one call stay. A
      remark says why an operation does not qualify.
    - Attention under a window waits for `tpsp-propagate` (`tpsp.when_placed`).
      If axes divide its queries, it may need a few keys of other shards.

    ```
    tpsp-opt examples/gpt-block-sp.mlir --tpsp-decompose-early
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def KeepMasks : Pass<"tpsp-keep-masks", "::mlir::ModuleOp"> {
  let summary = "Store dropout masks instead of rematerialising them";
  let description = [{
    Every dropout becomes a mask of i8 and its application. The backward pass
    then reads the mask of the forward pass. This costs a byte per element
    between the two passes; drawing the mask twice costs arithmetic.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def ReturnChoices : Pass<"tpsp-return-choices", "::mlir::ModuleOp"> {
  let summary = "Return choices, which comparisons of numbers decide";
  let description = [{
    Adds every choice to its function's results: a tensor of integers computed
    from floating-point tensors, such as a router's experts.

    Rounding may change a choice, and then all later values differ. So an
    evaluation of the same program elsewhere must be given the choices.
    `tpsp-run --verify` and `--emit` need this pass.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def CountDropped : Pass<"tpsp-count-dropped", "::mlir::ModuleOp"> {
  let summary = "Return the number of token choices that found no place";
  let description = [{
    Adds a result `dropped` to functions in which choices may find no place
    (`RoutingOpInterface`): their number over all layers, for each group of
    tokens. It has no gradient. If there are as many places as choices, no
    result is added.

    The count sends nothing: the reader of the result adds up the groups.
    `tpsp-run` prints it, and `tpsp-train` reports it for every step.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def PadExtents : Pass<"tpsp-pad-extents", "::mlir::ModuleOp"> {
  let summary = "Give padded indices their larger extents, and mask where needed";
  let description = [{
    Every tensor with an index of `tpsp.padding` gets the larger extent, and the
    module notes both extents (`tpsp.unpadded`). Code that fills arguments must
    put zeros after the end. Results and gradients before the end are those of
    the program as written.

    The pass tracks the values after the end (the tail) from operation to
    operation: one number, numbers below all others, or any finite numbers
    (`Tail.h`). Each operation states which tails it needs
    ([TailOpInterface](Interfaces.md)). A contraction needs zeros of one
    operand, a maximum or a softmax low numbers, a logarithm a positive number.
    An operand with another tail is masked (`end_mask`) for that operation
    alone. Differentiation turns masks into masks.

    A composite that has no rule, or whose rule refuses, is decomposed while
    types have the extents of the program. The rows of a norm are divided by
    these extents. In an update gradients are masked, because their tails may
    hold any numbers. Zeros stay zeros in an update.

    An operation that no mask makes right is an error. The integers of arguments
    are bounded first (`tpsp-bound-integers`). Without `tpsp.padding` the pass
    does nothing.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def Propagate
    : Pass<"tpsp-propagate", "::mlir::ModuleOp"> {
  let summary = "Fill in missing placements from those given";
  let description = [{
    Fills in placements marked `?`. The pass sweeps over the program forwards
    and then backwards, until nothing changes. Placements that are still open
    are then replicated. A written placement is never changed.

    - *Forwards.* Each axis of each operand is put on the result's dimension of
      the same index. The result must carry the index and must not need it
      whole. The [row](../Design/IndexAnalysis.md#index-structure) of a norm or
      softmax may be divided like its first operand's. The composite is then
      replaced by its parts. So is attention under a window if its queries and
      keys are divided alike: each shard gets keys of the shards before it
      (`tpsp.hand_on`).
    - *Backwards.* Each axis of the result is put on an operand's dimension of
      the same index. If another operand has the axis on another dimension of
      the result, the result alone does not decide. A parameter on a data axis
      gives way.
    - An axis is never put where it does not divide the extent, nor twice on a
      tensor.

    *If operands disagree* about an axis, three rules decide, in this order. The
    first prefers the proposal that puts the axis where a user needs the index
    whole. The second is the [axis role](../Notation.md#axis-roles). The third
    is a placed result, backwards. If no rule decides, the program is refused,
    with both ways priced.

    *Sums over an index that a single operand has on an axis* come last, if the
    result does not decide the axis. The role decides: either that operand is
    gathered, by a `tpsp.reshard`, or the sum is reduced. Without a role the
    program is refused, with both ways priced.

    Arguments must be placed. Results need not be: the function's type then
    shows their placements. Results that are placed here are marked
    (`tpsp.proposed`), and `tpsp-insert-collectives` may choose other
    placements.

    ```
    tpsp-opt examples/mlp-sp.mlir --tpsp-propagate
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def ShardReplicated : Pass<"tpsp-shard-replicated", "::mlir::ModuleOp"> {
  let summary = "Shard values that are replicated only by default";
  let description = [{
    A value that follows an all-reduce over tp is replicated over tp only
    because propagation had no axis to put there. Every rank computes and keeps
    all of it. This pass puts tp on one of the value's indices. The all-reduce
    then becomes a reduce-scatter, and an all-gather comes before the consumers.
    Tensor parallelism becomes tensor and sequence parallelism.

    - *Seeds* are results that are computed pending over an axis and are not
      placed on it.
    - *Growth* follows operations forwards and backwards, if they map the index,
      do not need it whole, and have no operand with the axis elsewhere. It
      includes values that propagation placed (`tpsp.proposed`). Written
      placements and results of functions never change. A replicated argument
      connects its users, because a slice of it is free.
    - *The index* is the one that reaches most values. Among equals the
      innermost is taken: the sequence rather than the batch. An extent that the
      axes would not divide ends the growth.
    - A connected set that consists of sums only is left as it is: it would be
      gathered right after it is scattered.

    On `gpt-block-tp` the result is `gpt-block-sp`, with free slices of the
    replicated input and a gather of the replicated result. Forward bytes stay.
    In the backward pass, shards of formerly replicated values are gathered
    again. Gradients of replicated operands (gains, biases) are summed over the
    axis.

    With `shard-replicated=time` the pass estimates the time of a group with and without the
    axis, and leaves it if there is no gain. With `overlap`, only exposed
    communication counts. The halves of a split all-reduce are hidden by the
    products next to them. An undivided one is exposed in the forward pass,
    where a norm waits for it. In the backward pass the weight's gradient hides
    it. This is an estimate: a schedule of the whole step may hide more or less.
    So `tpsp-run --shard-replicated time` simulates the step with and without
    the proposal, and takes the faster.

    Every operation whose result was sharded gets a `tpsp.note`. A remark and
    `--tpsp-explain` report the memory that each value saves, and the bytes sent
    before and after. Runs before tpsp-differentiate.

    ```
    tpsp-opt examples/gpt-block-tp.mlir --tpsp-explain=shard-replicated=memory
    tpsp-run examples/gpt-block-tp.mlir --grad --verify --shard-replicated memory
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

#endif // TPSP_PASSES_LOGICALPASSES_TD
