#ifndef TPSP_PASSES_STEPPASSES_TD
#define TPSP_PASSES_STEPPASSES_TD

// Passes on the step, on global shapes: gradients, rematerialisation, the
// update, and parts of the batch.
include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"tpsp-differentiate", "::mlir::ModuleOp"> {
  let summary = "Add the backward pass of a function";
  let description = [{
    For `f(args) -> results` adds
    `f_grad(args, cotangents of the results) -> (results, gradients of the args)`,
    a vector-Jacobian product. Arguments of integers, and those marked
    `tpsp.frozen`, have no gradient.

    Runs on global shapes, before any collective exists
    ([Adjoints](../Design/Adjoints.md)). A gradient has the placement of its
    tensor. Contributions to one gradient are unplaced, and are summed before
    they are reduced; those of parameters in `reduce-type`. Operations of the
    backward pass have the origin `backward`.

    An operation on the path from the arguments must have a gradient. If it has
    none, that is an error: a `reduce` of kind "max", or an operation of another
    dialect.

    ```
    tpsp-opt examples/mlp-sp.mlir --tpsp-propagate --tpsp-differentiate
    ```
  }];
  let options = [
    Option<"function", "function", "std::string", /*default=*/"",
           "The function to differentiate; all of the module's if empty">
  ];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def DropPrimals : Pass<"tpsp-drop-primals", "::mlir::ModuleOp"> {
  let summary = "Remove functions that have a differentiated form";
  let description = [{
    `f_grad` computes everything that `f` does. If only `f_grad` is run, `f`
    need not be compiled.
  }];
}

def Rematerialize : Pass<"tpsp-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Compute parts of the forward pass again instead of saving their results";
  let description = [{
    Runs after differentiation and before collectives, so that rematerialised
    values get their collectives like all others
    ([Rematerialization](../Design/Rematerialization.md)).

    | mode | rematerialised |
    | --- | --- |
        | `none` | values that cost nothing: computed elementwise from one saved tensor, and read by loops only; views of a saved tensor |
    | `selective` | also the results of operations marked `tpsp.recompute`; composites mark such parts, attention its scores |
    | `full` | everything except the inputs of each layer |

    A layer is a call that was inlined. If a call has calls in it that do the
    same one after another, these are the layers. A program without calls is one
    layer.
    Each clone stands just before its first use. Clones have
    the origin `backward, recomputed`. Every clone is a remark.

    ```
    tpsp-opt examples/gpt-block-sp.mlir --tpsp-explain="rematerialize=full"
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def BuildUpdate : Pass<"tpsp-build-update", "::mlir::ModuleOp"> {
  let summary = "Build the update of a function's parameters";
  let description = [{
    For `f(args)` adds `f_update(args, gradients of parameters)`, which returns
    the new parameters and the optimizer's new state. The state, a learning rate
    and the step's number become arguments of `f`.

    An optimizer is a row of `Optimizers.def` and one file that builds its
    operations for one parameter; this pass knows none by name. Operations are
    unplaced and on global shapes. They get their collectives like all others.

    *State* has its parameter's subscripts and, in addition, `optimizer-axes`: each on the
    first index that it divides. An axis that divides none cuts a large tensor
    as a row of elements (docs/decisions/0035). The gradient is wanted at these subscripts
    (`tpsp.gradient_at`), and the update is computed there. With `axes=dp` that
    is ZeRO-1: a sum over dp whose user dp divides is a reduce-scatter. The new
    parameter is gathered. If fsdp divides a parameter, it divides the state in
    any case: ZeRO-3.

    *Precision.* State is in f32. A parameter in 16 bits has a master in f32,
    and is gathered in 16 bits.

    *Clipping.* With `clip`, gradients are scaled by `min(1, clip / (norm +
    1e-6))`. The norm is over all gradients, summed in f64. Summands that are
    pending over the same axes are added before they are reduced.

    *Gathering.* With `gather=forward` a parameter argument has its state's
    placement, and the function begins by gathering it. So a gather can overlap
    with the forward pass of the next step instead of ending this one. Bytes and
    memory are the same.

    *Loss scale.* With `loss-scale` gradients of f16 do not vanish: the
    cotangents of the loss are multiplied by the scale (tpsp-compose-step), and
    gradients are divided by it. If the norm of all gradients is not finite,
    parameters and state stay. All ranks have the same norm, so they decide
    alike. The optimizer counts only steps that were applied (`updates`). A
    skipped step halves a dynamic scale (`loss_scale`). `loss-scale-window`
    applied steps in a row (`good_steps`) double it, but never beyond the range
    of the results' types.

    *Dropout* draws by the step's number, which becomes an operand of operations
    that draw.

    A parameter's `tpsp.optimizer` and `tpsp.learning_rate` take precedence.

    ```
    tpsp-opt examples/mlp-sp.mlir --tpsp-build-update="optimizer=adamw clip=1 grad=true"
    tpsp-run examples/mlp-sp.mlir --grad --optimizer adamw --verify
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def ComposeStep : Pass<"tpsp-compose-step", "::mlir::ModuleOp"> {
  let summary = "Append the update to the function that computes the gradients";
  let description = [{
    `f_grad` ends with `f_update`: its results are those of `f`, the new
    parameters and the new state. `tpsp.updates` says which argument a result
    replaces. Runs after tpsp-micro-batch, so that the update is computed once a
    step.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def PlaceStages : Pass<"tpsp-place-stages", "::mlir::ModuleOp"> {
  let summary = "Say on which stages everything runs";
  let description = [{
    For programs whose layers are divided over stages (tpsp-assign-stages).
    Completes the `chunk` of operations of micro-batches in `tpsp.origin`.
    `stage-placement` says which stage has which chunk (Abi/ChunkPlacement.h).
    `stages` says which stages run an operation of the prologue or the update. These are the
    stages that have all of its operands, or else all that have one. A sum over values of
    several stages becomes one sum for each stage, and their sum.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def MicroBatch : Pass<"tpsp-micro-batch", "::mlir::ModuleOp"> {
  let summary = "Cut a step into parts of the batch";
  let description = [{
    Cuts a step into `micro-batches` parts of the batch. The forward and backward pass
    of one part come before those of the next, so that only one part's
    activations are live at a time.

    The micro-batches are treated as one more axis, of time. It drives `index`
    wherever the index appears, under any of its names:

    | the value | is | so |
    | --- | --- | --- |
    | carries the index | cut | an argument is cut, a result stacked |
    | is a sum over it | a summand | a result is added up |
    | neither | the same in every part | it is computed once |

    *Cuts are free of communication.* Under `b@dp`, part i must be a part of
    every rank's own shard. The index is seen as (blocks, parts, rows), with as
    many blocks as there are shards. Part i is then position i of parts:
    `split`, [`take`](../Notation.md#blocks), `merge`. All arguments that carry
    the index need the same subscripts on it.

    *Sums are reduced once a step.* The placement of a part's sum is only
    proposed (`tpsp.proposed`), so it stays partial. The last addition brings
    the total to the gradient's placement. So a step has as many collectives for
    weights' gradients as without micro-batches. The price is memory: the
    gradient is whole while it is added up. (openxla/xla#49143 and
    AI-Hypercomputer/maxtext#5099 are about reducing every micro-batch's
    gradients.) With `reduce=part` each part's gradient of a parameter is
    reduced at once. Sums are then added up in the gradient's placement, which
    may be divided (ZeRO-2, FSDP).

    *In f32.* Gradients of parameters in 16 bits are added up in f32.

    *Sums of inputs alone are counts.* An operation may need one complete: a loss
    is divided by the number of its labels. Such a sum is made before the first
    part, from the inputs of all parts, by clones of the operations that make
    it. These have `part = -1` in `tpsp.origin`. No parameter and no gradient may make a count.

    *A result without the index must be additive* over the batch: a sum, or a
    mean written as a sum and a scale. Operations are refused if they are not
    linear in another sum, take a maximum over the batch, or need it whole. So are
    operations that relate its positions to each other. Operations that compute
    with positions are refused if they cannot account for the part
    (`restrictPositions`).

    Other operations occur once for every part, including collectives of
    activations and gathers of parameters. Runs after tpsp-differentiate and
    before tpsp-insert-collectives.

    *Written out, or not.* With `overlap` the operations of up to four parts are
    written out, so that overlap schedules across them. Else those of
    part 0 stand for all (`tpsp.micro_batches` of the function). Cut arguments
    and results then have one part's type (`tpsp.cut`), and `tpsp.accumulate`
    adds a part's summand to the sum. Functions that
    return a cut argument, or cut a parameter, are written out in any case. So
    are those that need a part of a value that is computed whole, or a count of
    which another makes a part.

    ```
    tpsp-run examples/mlp-sp.mlir --grad --verify --micro-batches 2
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

#endif // TPSP_PASSES_STEPPASSES_TD
