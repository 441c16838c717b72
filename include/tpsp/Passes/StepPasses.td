#ifndef TPSP_PASSES_STEPPASSES_TD
#define TPSP_PASSES_STEPPASSES_TD

// The step, on global shapes: gradients, what is computed again, the update,
// parts of the batch.
include "mlir/Pass/PassBase.td"

def Differentiate : Pass<"tpsp-differentiate", "::mlir::ModuleOp"> {
  let summary = "Add the backward pass of a function";
  let description = [{
    For `f(args) -> results` adds
    `f_grad(args, cotangents of the results) -> (results, gradients of the args)`,
    a vector-Jacobian product. Arguments of integers, and those marked
    `tpsp.frozen`, have no gradient.

    It runs on global shapes, before any collective exists
    ([Adjoints](../Design/Adjoints.md)). A gradient has the placement of its
    tensor. Contributions to one gradient are unplaced, and are summed before
    anything is reduced; those of parameters in `reduce-type`. Operations of the backward pass carry `tpsp.backward`.

    An operation on the path from the arguments must have a gradient. It is an
    error there if it has none: a `reduce` of kind "max", or an operation of
    another dialect.

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
  let summary = "Remove functions whose differentiated form is there";
  let description = [{
    `f_grad` computes all that `f` does. Where only `f_grad` is run, `f` need
    not be compiled.
  }];
}

def Rematerialize : Pass<"tpsp-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Compute parts of the forward pass again instead of saving their results";
  let description = [{
    Runs after differentiation and before collectives, so that the collectives
    of rematerialised values are found as all others are
    ([Rematerialization](../Design/Rematerialization.md)).

    | mode | rematerialised |
    | --- | --- |
    | `none` | what is free: made element by element of one saved tensor, and read by loops only; views of a saved tensor |
    | `selective` | also the results of operations marked `tpsp.recompute`; composites mark such parts, attention its scores |
    | `full` | everything but the inputs of each layer |

    A layer is a call that was inlined; a program without calls is one layer.
    Clones stand just before their first use, each once. They carry
    `tpsp.backward` and `tpsp.recomputed`. Every clone is a remark.

    ```
    tpsp-opt examples/gpt-block-sp.mlir --tpsp-explain="rematerialize=full"
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def BuildUpdate : Pass<"tpsp-build-update", "::mlir::ModuleOp"> {
  let summary = "Build what a training step does to a function's parameters";
  let description = [{
    For `f(args)` adds `f_update(args, gradients of parameters)`, which returns
    the new parameters and the optimizer's new state. The state, a learning rate
    and the step's number become arguments of `f`.

    An optimizer is a row of `Optimizers.def` and one file that builds
    operations for one parameter; nothing here knows one by name. Operations are
    unplaced and on global shapes. Their collectives follow as all others do.

    *State* has its parameter's subscripts and `axes`: each on the first index
    that it divides. There the gradient is wanted (`tpsp.gradient_at`), and there
    the update is done. With `axes=dp` that is ZeRO-1: a sum over dp meets a use
    that dp divides, which is a reduce-scatter. The new parameter is gathered. A
    parameter that fsdp divides has its state there anyway: ZeRO-3.

    *Precision.* State is in f32. A parameter in 16 bits has a master in f32,
    and is gathered in 16 bits.

    *Clipping.* With `clip`, gradients are scaled by
    `min(1, clip / (norm + 1e-6))`. The norm is over all gradients, summed in
    f64. What is pending over the same axes is added before it is reduced.

    *Gathering.* With `gather=forward` a parameter argument is where its state
    is, and the function begins by gathering it. So a gather is beside the
    forward pass of the next step instead of at the end of this one. It is the
    same bytes, and the same memory.

    *Loss scale.* With `loss-scale` gradients of f16 do not vanish: what they
    start from is multiplied by the scale (tpsp-compose-step), and they are
    divided by it. If the norm of all is not finite, parameters and state stay.
    All ranks have the same norm, so they decide alike. Only steps that were done
    count for the optimizer (`updates`). A dynamic scale (`loss_scale`) is halved
    by such a step, and doubled after `loss-scale-window` others in a row
    (`good_steps`), but never beyond what the results' types hold.

    *Dropout* draws by the step's number: it becomes an operand of what draws.

    A parameter's `tpsp.optimizer` and `tpsp.learning_rate` take precedence.

    ```
    tpsp-opt examples/mlp-sp.mlir --tpsp-build-update="optimizer=adamw clip=1 grad=true"
    tpsp-run examples/mlp-sp.mlir --grad --optimizer adamw --verify
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def ComposeStep : Pass<"tpsp-compose-step", "::mlir::ModuleOp"> {
  let summary = "Append the update to the function that makes the gradients";
  let description = [{
    `f_grad` ends with `f_update`: its results are those of `f`, the new
    parameters and the new state. `tpsp.updates` says which argument a result
    takes the place of. Behind tpsp-micro-batch, so that an update is done once
    a step.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def MicroBatch : Pass<"tpsp-micro-batch", "::mlir::ModuleOp"> {
  let summary = "Cut a step into parts of the batch";
  let description = [{
    Cuts a step into `parts` parts of the batch. The forward and backward pass
    of one part come before those of the next, so that activations of one part
    live at a time.

    The micro-batches are seen as one more axis, of time. It drives `index`
    wherever the index appears, under whatever name:

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

    *Sums are reduced once a step.* Where a part's sum is, is only proposed
    (`tpsp.proposed`): it stays partial. The last addition brings the total to
    the gradient's placement. A step so has as many collectives for weights'
    gradients as without micro-batches. The price is memory: the gradient is
    whole while it is added up. Reducing every micro-batch's gradients is what
    openxla/xla#49143 and AI-Hypercomputer/maxtext#5099 are about. With
    `reduce=part` that is done. Each part's gradient of a parameter is reduced
    at once. Sums are added up where the gradient is wanted, divided if it is
    (ZeRO-2, FSDP).

    *In f32.* Gradients of parameters in 16 bits are added up in f32.

    *A result without the index must be additive* over the batch: a sum, or a
    mean written as a sum and a scale. Refused are operations that are not
    linear in a sum, or take a maximum over the batch, or need it whole. So are
    operations that relate its positions to each other, or compute with them and
    cannot account for the part (`restrictPositions`).

    Everything else comes once for every part: collectives of activations, and
    gathers of parameters. Runs after tpsp-differentiate and before
    tpsp-insert-collectives.

    ```
    tpsp-run examples/mlp-sp.mlir --grad --verify --micro-batches 2
    ```
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

#endif // TPSP_PASSES_STEPPASSES_TD
