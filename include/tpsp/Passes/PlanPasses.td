#ifndef TPSP_PASSES_PLANPASSES_TD
#define TPSP_PASSES_PLANPASSES_TD

// Commands on buffers.
// docs/reference/Passes.md is made of the descriptions.


include "mlir/Pass/PassBase.td"

def ConvertTpspToPlan : Pass<"convert-tpsp-to-plan", "::mlir::ModuleOp"> {
  let summary = "Convert local operations to commands on buffers";
  let description = [{
    Every function becomes a `plan.program` of its name
    ([Plan](../Design/Plan.md)).

    - Products become `plan.matmul` where a layout without a copy exists
      (`Algebra/MatmulForm.h`). Where none does, the product runs as a loop
      nest. A missed remark says so, and the program's `layout_misses` counts
      it.
    - In some products every row meets the matrix that its integer chooses
      (`GroupedProductOpInterface`). They become `plan.grouped_matmul`, where
      the same layouts exist, and the integers of neighbouring rows are
      neighbours. Where no layout fits, it is a kernel of its rows.
    - Groups of other loop operations become `plan.kernel`
      ([which](../Design/Plan.md#kernels)). Equal kernels are one function. Axes
      of one rank are first taken out of the types, so that they keep no loops
      apart. With `wide-sums` sums across rows are kept in f64 while a kernel
      runs: CPUs add them up one after another. With `kept-bytes` an operation
      does not join a kernel whose work item would then keep more than that
      between its loops: a GPU's block of threads has no more memory. A sum of
      very many tensors is first made a tree of sums, each with few enough
      operands for a kernel.
    - Views become `plan.view`. Collectives become commands with their row of
      the ledger.

    With `epilogues`, matmuls take over what kernels would do. A matmul does to
    its product what a kernel would, element by element. A weight's gradient
    makes the bias gradient besides. The matmul then stands where the kernel
    would; with a sum it stays where it is.

    | the kernel | becomes | in cuBLASLt |
    | --- | --- | --- |
    | y + bias, the bias along the product's last indices | `bias` | `BIAS` |
    | gelu of y, or of y + bias | `gelu`, `bias, gelu` | `GELU`, `GELU_BIAS` |
    | the same, with GELU's argument kept for the backward pass | `keep, gelu`, `bias, keep, gelu` | `GELU_AUX`, `GELU_AUX_BIAS` |
    | y gelu'(h), h kept by the forward pass | `slope` | `DGELU` |
    | the sum of a matmul's operand over the indices that the matmul sums | `sum_a`, `sum_b` | `BGRADB`, `BGRADA` |

    `gelu` is the tanh form, as cuBLASLt's is; `gelu_erf` stays a kernel. A GELU
    without a bias keeps the product itself if the backward pass reads that.

    What operations compute at a point is known by `LoopOpInterface`
    ([decision 0013](../decisions/0013-epilogues-before-kernels.md)). A kernel
    goes whole or not at all: each of its results must be some matmul's. Two
    vectors added to two products in one kernel are two epilogues. A bias, a
    residual and a norm in one kernel stay that kernel. A missed remark says
    what is in the way:

    - *It does not read a product*: there is a collective between (the bias
      behind a row-parallel product), or a copy.
    - *Something else reads the product*, or it is itself a result, or it has an
      epilogue already.
    - *The vector does not lie along the product's columns*: the product's n is
      another index.
    - *No product sums this tensor over the same indices*. No single product has
      it as an operand and sums just these, before the sum is read.
    - *The type*: cuBLASLt has epilogues for f32, bf16 and f16.
    - *The alignment*: cuBLASLt needs n in multiples of 8 for GELU's argument
      (`keep`, `slope`). Vectors may have any length.
    - *The kernel is not slower*, by the cost model of `hardware`.

    A tile of a product that is cut has the same epilogue, on its part of GELU's
    argument and of the vector. A sum of an operand that is not cut comes with
    the first tile. A product whose tiles would lay out an epilogue's matrix
    differently is not cut. A ring's tiles lie at other places on every rank, so
    the product behind a ring's GELU is cut into chunks of columns.

    `tpsp-run --epilogues off` (`epilogues=false`) makes a plan without them.
    `--epilogues auto` makes them for GPUs alone. On CPUs they gained nothing.
    Four runs of `gpt-block-sp` in turns had medians of 220 to 225 ms with them,
    and of 217 to 221 without. Which matmuls have which epilogue is in the
    [report](../Report.md).

    ```
    tpsp-opt examples/gpt-block-tp.mlir --tpsp-pipeline=grad --remarks-filter=convert-tpsp-to-plan
    ```
  }];
  let dependentDialects = [
    "::tpsp::TpspDialect", "::tpsp::plan::PlanDialect",
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
  let options = [
    Option<"wideSums", "wide-sums", "bool", "true",
           "Keep sums across rows in f64 while a kernel runs, as CPUs do">,
    Option<"keptBytes", "kept-bytes", "int64_t", "0",
           "Bytes of rows that a work item may keep between its loops, but for "
           "those that its threads divide alike; 0: any number">
  ];
}

def Overlap : Pass<"tpsp-overlap", "::mlir::ModuleOp"> {
  let summary = "Schedule collectives on streams of their own, under computation";
  let description = [{
    List scheduling of the program's commands on the cost model of `hardware`
    ([Overlap](../Overlap.md)). A collective begins as soon as its inputs and
    buffers allow, and its users wait as late as they can. Work that nobody
    waits for (weight gradients) fills the gaps.

    On GPUs each tier of links (within a node, between nodes) has a stream, on
    CPUs each communicator; events order the streams. Memory is bounded:
    to what the program needs one command after another, and `memory` times that,
    and to what a device has. Schedules with all of that, with half and with none
    of what may be added are tried, and the fastest that fits is taken.

    Communication that stays exposed beside a product is cut with it into tiles
    (`Passes/Plan/CollectiveCuts.h`). An all-gather becomes the hops of a ring,
    the rank's own tile multiplied first. A product before a reduction is made
    in chunks of rows or of columns.

    A schedule that the simulator does not find faster than one command after
    another is not taken. Runs between convert-tpsp-to-plan and tpsp-allocate.
  }];
  let dependentDialects = ["::tpsp::plan::PlanDialect"];
}

def Allocate : Pass<"tpsp-allocate", "::mlir::ModuleOp"> {
  let summary = "Give every buffer its offset in one arena";
  let description = [{
    Buffers that last the whole step (inputs, parameters, outputs, gradients)
    come first. Temporaries share what follows, each for its live range, by best
    fit in the order of issue. Where that leaves gaps, the large ones are placed
    by size, too, and the smaller arena is taken. Offsets are multiples of 64
    bytes.

    With several streams, a buffer may get another's memory. The other's last
    users must have ended, by streams and events, before its own first ones
    begin. Near-linear in the number of commands.
  }];
  let dependentDialects = ["::tpsp::plan::PlanDialect"];
}

def CheckSchedule : Pass<"tpsp-check-schedule", "::mlir::ModuleOp"> {
  let summary = "Prove that every command reads what it is meant to read";
  let description = [{
    Follows the commands in order with a vector clock for each stream. For every
    range of the arena it keeps which buffer owns it and which command touched
    it last. The rules are in Schedule/ScheduleProof.h. Errors are:

    - two commands that touch the same bytes, one writing, and are not ordered
      by streams and events;
    - a read of what nothing has written, or what another buffer has
      overwritten;
    - an output that is not there at the end, or a write to an argument;
    - a buffer outside the arena;
    - a wait without a record;
    - collectives of one communicator that ranks could run in different orders.

    Near-linear in the number of commands ([Overlap](../Overlap.md#the-proof)).
  }];
}

def RequireOverlap : Pass<"tpsp-require-overlap", "::mlir::ModuleOp"> {
  let summary = "Fail if too little of the communication is hidden";
  let description = [{
    Simulates the scheduled, allocated programs on `hardware`. The share of
    communication that is hidden must be at least `share`; otherwise the program
    is refused ([Overlap](../Overlap.md#the-contract)). The error names the
    exposed collectives, how long each is exposed, and what it waits for: a
    dependence, a buffer, or the links.

    An operation with an attribute `tpsp.overlap = 0.9` asks the same of the
    collectives that it causes, whatever `share` is.
  }];
}

#endif // TPSP_PASSES_PLANPASSES_TD
