#ifndef TPSP_PASSES_LOGICALPASSES_TD
#define TPSP_PASSES_LOGICALPASSES_TD

// On global shapes, before collectives.
// docs/reference/Passes.md is made of the descriptions.


include "mlir/Pass/PassBase.td"

def SetMesh : Pass<"tpsp-set-mesh", "::mlir::ModuleOp"> {
  let summary = "Give axes of the module's mesh other sizes";
  let description = [{
    Only sizes change: names, roles and the order of the axes stay. An axis that
    the mesh lacks is an error.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def SetExtents : Pass<"tpsp-set-extents", "::mlir::ModuleOp"> {
  let summary = "Give indices of the program other extents";
  let description = [{
    Types alone change: every tensor with the index, in every function. An index
    that is renamed (`tpsp.rename`) goes with it, for both have one extent.

    It is an error if the program lacks an index, or has it in several extents.
    So is a number that was written for the old extent. It is the `scale` of
    scores (or a `factor`) that is a power of it, or a `tpsp.below` beyond the
    new one. That products of extents and axes still fit, operations verify.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def SetPadding : Pass<"tpsp-set-padding", "::mlir::ModuleOp"> {
  let summary = "Say with which larger extents indices are to run";
  let description = [{
    An index that is named gets the next multiple of its number, as does what it
    is renamed to. Of an index that is split or merged the major part goes
    along. With h = 12 to 16, e = (h, k) goes from 768 to 1024. The extents are
    written to the module (`tpsp.padding = {v = 50264}`), and types stay as they
    are. From here on axes need to divide the larger extents (I3).

    It is an error if the program lacks an index, or has it in several extents.
    So is a minor part of a merged index: the positions of the latter would
    move.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def SetElementType : Pass<"tpsp-set-element-type", "::mlir::ModuleOp"> {
  let summary = "Store all floating-point tensors in another type";
  let description = [{
    Storage alone changes. Arithmetic within kernels and sums of products stay
    in f32 (f64 for f64).
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def NameValues : Pass<"tpsp-name-values", "::mlir::ModuleOp"> {
  let summary = "Give values the names that the source file has for them";
  let description = [{
    The parser keeps line numbers but not the names of SSA values. This pass
    reads the names back from the source file, as named locations, so that the
    ledger can say `%xn`. A file that cannot be read names nothing.
  }];
}

def CheckProgram : Pass<"tpsp-check-program", "::mlir::ModuleOp"> {
  let summary = "Refuse MLIR that is no program, and warn of likely mistakes";
  let description = [{
    Runs before calls are inlined, so that each function is spoken of once.

    An error are operations that are not tpsp's, calls of functions without a
    body, and recursion. So are layers that several stages divide, unless they
    have been cut, a module within the module, and one without a function.

    A warning is an index that one of several operands of an einsum alone
    carries. It is summed over. An index that was misspelt would be, too, and
    the result would be wrong without a word.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def SeedCalls : Pass<"tpsp-seed-calls", "::mlir::ModuleOp"> {
  let summary = "Give every call of a function dropouts of its own";
  let description = [{
    A dropout keeps the elements that its seed says. A layer that is called 32
    times would drop the same elements each time.

    Runs before calls are inlined. The first call of a function that draws keeps
    it. Every further call gets a copy of the function. The copy's seeds are the
    program's, with the number of the call in the upper 32 bits. Calls are
    counted over the whole program, in the order of execution.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def InlineCalls : Pass<"tpsp-inline-calls", "::mlir::ModuleOp"> {
  let summary = "Put what functions do in the place of their calls";
  let description = [{
    A program becomes one list of operations. An operation's location says where
    it is written and from which calls it came, so that layers are still known.
    Private functions are removed.

    A call costs what its function has. MLIR's own inliner moves all operations
    after a call for each call, which is quadratic in the repetitions of a layer.

    ```
    tpsp-opt examples/llama3-8b-block.mlir --tpsp-inline-calls
    ```
  }];
}

def StopDrawing : Pass<"tpsp-stop-drawing", "::mlir::ModuleOp"> {
  let summary = "Let every dropout keep everything";
  let description = [{
    A model is evaluated, and used, without dropout. `tpsp-run --dropout off` and
    the evaluations of `tpsp-train` do this.

    ```
    tpsp-opt examples/gpt-block-dropout.mlir --tpsp-stop-drawing
    ```
  }];
}

def FreezeInputs : Pass<"tpsp-freeze-inputs", "::mlir::ModuleOp"> {
  let summary = "Mark inputs as constants to differentiation";
  let description = [{
    Marks every floating-point argument that is no parameter `tpsp.frozen`:
    [why, and when](../Inputs.md#gradients-of-inputs).

    ```
    tpsp-opt examples/mlp-sp.mlir --tpsp-freeze-inputs --tpsp-explain
    ```
  }];
}

def BoundIntegers : Pass<"tpsp-bound-integers", "::mlir::ModuleOp"> {
  let summary = "Find the range of integer arguments from their uses";
  let description = [{
    Token ids and the like are positions along an index. An argument of integers
    without `tpsp.below = N` gets the least extent that its uses ask for.
    Drivers that make up arguments need the bound; nothing else does.
  }];
}

def InitializeArguments
    : Pass<"tpsp-initialize-arguments", "::mlir::ModuleOp"> {
  let summary = "Find how random parameters scatter from their uses";
  let description = [{
    A parameter without `tpsp.mean` or `tpsp.deviation` gets what models
    commonly begin with. What the program does with it decides which
    ([the table](../Inputs.md#what-is-made-up)). Drivers that make up arguments
    need it; nothing else does.

    - Before: `%w {tpsp.param = "w"}`.
    - After:
      `%w {tpsp.deviation = 0.125 : f64, tpsp.mean = 0.0 : f64, tpsp.param = "w"}`.

    Uses are followed through views, copies of blocks, collectives, and linear
    operations of one operand. For a composite, its parts are built, looked at
    and removed. What the program says stays.

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

    A composite goes here if its parts are better placed and differentiated one
    by one (`decomposesEarly`). Composites that keep their index structure
    (norms, softmax, rope) wait for `tpsp-decompose-late`.

    - With `attention=blocks`, operations that can see an index block by block wait
      for `tpsp-sweep`.
    - With `attention=fused`, operations stay that a library does in one call. A
      remark says why another one does not.

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
    then reads the mask that the forward pass has made. This costs a byte per
    element between the two; drawing the mask twice costs arithmetic.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def ReturnChoices : Pass<"tpsp-return-choices", "::mlir::ModuleOp"> {
  let summary = "Return choices, which were decided by comparing numbers";
  let description = [{
    Adds every choice to its function's results: a tensor of integers that comes
    of floating-point ones, such as a router's experts.

    Rounding may tip a choice, and all that follows differs. So whoever
    evaluates the same program elsewhere is told the choices that were made.
    `tpsp-run --verify` and `--emit` need it.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def CountDropped : Pass<"tpsp-count-dropped", "::mlir::ModuleOp"> {
  let summary = "Return how many choices of tokens have found no place";
  let description = [{
    Adds a result `dropped` to functions in which choices may find no place
    (`RoutingOpInterface`): their number, for each group of tokens, over all
    layers. It has no gradient. Where there are as many places as choices there
    is no such result.

    Nothing is sent for it: groups are added up where the result is read.
    `tpsp-run` prints it, and `tpsp-train` says it of every step.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def PadExtents : Pass<"tpsp-pad-extents", "::mlir::ModuleOp"> {
  let summary = "Give padded indices their larger extents, and mask where needed";
  let description = [{
    Every tensor with an index of `tpsp.padding` gets the larger extent, and the
    module notes both (`tpsp.unpadded`). Whoever fills arguments leaves zeros
    behind the end. Results before the end are those of the program that was
    written, and so are gradients.

    From operation to operation the pass follows what is behind the end. It is
    one number, numbers below all others, or anything that is finite (`Tail.h`).
    An operation says what it needs there ([TailOpInterface](Interfaces.md)). A
    contraction needs zeros of one operand, a maximum or a softmax low numbers,
    a logarithm a positive one. Where an operand is something else, it is masked
    (`end_mask`), there alone. Differentiation makes masks of masks.

    A composite that has no rule, or refuses, is taken apart while types have
    the extents of the program. The rows of a norm are divided by these. In an
    update gradients are masked, for anything may be behind their end. What an
    update makes of zeros is zero.

    An error is an operation that no mask makes right. The integers of arguments
    are bounded first (`tpsp-bound-integers`). Without `tpsp.padding` nothing
    happens.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def Propagate
    : Pass<"tpsp-propagate", "::mlir::ModuleOp"> {
  let summary = "Fill in missing placements from those given";
  let description = [{
    Fills in placements marked `?`. It sweeps over the program forwards and then
    backwards, until nothing changes. What is still open is then replicated.
    What was written is never changed.

    - *Forwards.* Each axis of each operand goes onto the result's dimension of
      the same index. The result must carry the index, and it need not be whole.
      The [row](../Design/IndexAnalysis.md#index-structure) of a norm or softmax
      may be divided as its first operand is. The composite is then replaced by
      its parts.
    - *Backwards.* Each axis of the result goes onto an operand's dimension of
      the same index. If another operand has the axis on another dimension of
      the result, the result alone does not decide. A parameter on a data axis
      gives way.
    - An axis is never put where it does not divide the extent, nor twice on a
      tensor.

    *Where operands disagree* about an axis, three things decide, in this order.
    First goes the proposal that puts the axis where a user needs the index
    whole. Then the [axis role](../Notation.md#axis-roles) decides. Then a
    placed result decides, backwards. Where nothing has decided in the end, the
    program is refused, with both ways priced.

    *Sums over an index that one operand alone has on an axis* come last, if the
    result says nothing of the axis. The role decides: either that operand is
    gathered, by a `tpsp.reshard`, or the sum is reduced. Without a role the
    program is refused, with both ways priced.

    Arguments must be placed. Results need not be: the function's type then says
    where they came to lie. Results that are placed here are marked
    (`tpsp.proposed`): `tpsp-insert-collectives` may leave them otherwise.

    ```
    tpsp-opt examples/mlp-sp.mlir --tpsp-propagate
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def ShardReplicated : Pass<"tpsp-shard-replicated", "::mlir::ModuleOp"> {
  let summary = "Shard values that are replicated only by default";
  let description = [{
    A value behind an all-reduce over tp is replicated over tp only because
    propagation had nothing to put there. Every rank computes and keeps all of
    it. This pass puts tp on one of the value's indices. The all-reduce then
    becomes a reduce-scatter, and an all-gather comes before the consumers.
    Tensor parallelism becomes tensor and sequence parallelism.

    - *Seeds* are results that come out pending over an axis and are not on it.
    - *Growth* goes forwards and backwards through operations that map the
      index, do not need it whole, and have no operand with the axis elsewhere.
      It takes values that propagation placed (`tpsp.proposed`). What
      was written never changes, nor what a function returns. A replicated
      argument connects its users: a slice of it is free.
    - *The index* is the one that reaches most values. Of equals it is the
      innermost: the sequence rather than the batch. An extent that the axes
      would not divide ends the growth.
    - A connected set of sums alone is left as it is: it would be gathered where
      it is scattered.

    On `gpt-block-tp` the result is `gpt-block-sp`, with free slices of the
    replicated input and a gather of the replicated result. Forward bytes stay.
    Backward, shards that were whole before are gathered again. Gradients of
    what was replicated (gains, biases) are summed over the axis.

    With `goal=time` the pass estimates what a group takes with and without the
    axis, and leaves it if there is no gain. With `overlap`, only what stays
    exposed counts. The halves of a split all-reduce go under the products next
    to them. A whole one is waited for by a norm, forward, and backward goes
    under the weight's gradient. This is an estimate: a schedule of the whole
    step may hide more or less. So `tpsp-run --shard-replicated time` simulates
    the step with what the pass proposes and without, and takes the faster.

    Every operation whose result was sharded gets a `tpsp.note`. A remark and
    `--tpsp-explain` say what each value saves, and what is sent before and
    after. Runs before tpsp-differentiate.

    ```
    tpsp-opt examples/gpt-block-tp.mlir --tpsp-explain=shard-replicated=memory
    tpsp-run examples/gpt-block-tp.mlir --grad --verify --shard-replicated memory
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

#endif // TPSP_PASSES_LOGICALPASSES_TD
