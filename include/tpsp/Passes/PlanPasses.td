#ifndef TPSP_PASSES_PLANPASSES_TD
#define TPSP_PASSES_PLANPASSES_TD

// Passes on commands and buffers. docs/reference/Passes.md is generated from
// the descriptions.


include "mlir/Pass/PassBase.td"

def ConvertTpspToPlan : Pass<"convert-tpsp-to-plan", "::mlir::ModuleOp"> {
  let summary = "Convert local operations to commands on buffers";
  let description = [{
    Every function becomes a `plan.program` of the same name
    ([Plan](../Design/Plan.md)).

    - Products become `plan.matmul` if a layout without a copy exists
      (`Algebra/MatmulForm.h`). Otherwise the product runs as a loop nest. A
      missed remark says so, and the program's `layout_misses` counts it.
    - In grouped products an integer chooses the matrix of each row
      (`GroupedProductOpInterface`). They become `plan.grouped_matmul` if the
      same layouts exist and the integers of neighbouring rows are neighbours.
      If no layout fits, the product becomes a kernel of its rows.
    - Groups of other loop operations become `plan.kernel`
      ([which](../Design/Plan.md#kernels)). Equal kernels are one function. Axes
      of one rank are first removed from the types, so that they do not keep
      loops apart. With `wide-sums` a kernel keeps sums across rows in f64 while
      it runs, because CPUs add the rows one after another. `kept-bytes` limits
      the bytes that a work item keeps between its loops: an operation that
      would exceed the limit does not join the kernel. A GPU's block of threads
      has no more memory. A sum of very many tensors first becomes a tree of
      sums, each with few enough operands for a kernel.
    - Views become `plan.view`. Collectives become commands with their row of
      the ledger.

    With `epilogues`, matmuls take over the work of kernels. A matmul applies a
    kernel's elementwise work to its product, or computes the bias gradient
    along with a weight's gradient. A matmul with elementwise work moves to the
    place of the kernel. A matmul that sums an operand stays in its place.

    | the kernel | becomes | in cuBLASLt |
    | --- | --- | --- |
    | y + bias, the bias along the product's last indices | `bias` | `BIAS` |
    | gelu of y, or of y + bias | `gelu`, `bias, gelu` | `GELU`, `GELU_BIAS` |
    | the same, with GELU's argument kept for the backward pass | `keep, gelu`, `bias, keep, gelu` | `GELU_AUX`, `GELU_AUX_BIAS` |
    | y gelu'(h), h kept by the forward pass | `slope` | `DGELU` |
    | the sum of a matmul's operand over the indices that the matmul sums | `sum_a`, `sum_b` | `BGRADB`, `BGRADA` |

    `gelu` is the tanh form, as in cuBLASLt; `gelu_erf` stays a kernel. A GELU
    without a bias keeps the product itself if the backward pass reads it.

    `LoopOpInterface` says what operations compute at a point
    ([decision 0013](../decisions/0013-epilogues-before-kernels.md)). A kernel
    is taken over as a whole or not at all: a matmul must compute each of its
    results. Two vectors added to two products in one kernel are two epilogues.
    A bias, a residual and a norm in one kernel stay a kernel. A missed remark
    says what is in the way:

    - *It does not read a product*: there is a collective in between (before the
      bias of a row-parallel product), or a copy.
    - *Something else reads the product*, or the product is a result, or it has
      an epilogue already.
    - *The vector does not lie along the product's columns*: the product's n is
      another index.
    - *No product sums this tensor over the same indices*. No product has it as
      an operand and sums exactly these indices before the sum is read.
    - *The type*: cuBLASLt has epilogues for f32, bf16 and f16.
    - *The alignment*: cuBLASLt needs n in multiples of 8 for GELU's argument
      (`keep`, `slope`). Vectors may have any length.
    - *The kernel is not slower*, by the cost model of `hardware`.

    A tile of a product that is cut has the same epilogue, on its part of GELU's
    argument and of the vector. The sum of an operand that is not cut is
    computed with the first tile. A product whose tiles would lay out an
    epilogue's matrix differently is not cut. A ring's tiles lie at other places
    on every rank. So the product that follows a ring's GELU is cut into chunks
    of columns.

    With `add-gradients` and micro-batches, a gradient's product is added to the
    sum where it is computed (`add`, beta = 1 in cuBLASLt and oneDNN). The sum
    must have the type in which products are summed: f32, or f64 for f64. A
    16-bit gradient then is not rounded before it is added. Such a product has
    no other epilogue. Micro-batches that are written out one after another, as
    with overlap up to four are, have kernels.

    `tpsp-run --epilogues off` (`epilogues=false`) makes a plan without the
    others. `--epilogues auto` uses them for GPUs only, because they gained nothing on
    CPUs. Four alternating runs of `gpt-block-sp` had medians of 220 to 225 ms
    with epilogues, and of 217 to 221 ms without. The [report](../Report.md)
    lists the epilogue of each matmul.

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
    to what the program needs one command after another, and `overlap-memory` times that,
    and to what a device has. Schedules with all of that, with half and with none
    of what may be added are tried, and the fastest that fits is taken.

    Communication that stays exposed beside a product is cut with it into tiles
    (`Passes/Plan/CollectiveCuts.h`). An all-gather becomes the hops of a ring,
    the rank's own tile multiplied first. A product before a reduction is made
    in chunks of rows or of columns.

    Segments of micro-batches are scheduled one by one: at both ends of a
    segment all streams wait for stream 0 ([decision
    0037](../decisions/0037-segments-are-scheduled-one-by-one.md)).

    A schedule that the simulator does not find faster than one command after
    another is not taken. Runs between convert-tpsp-to-plan and tpsp-allocate.
  }];
  let dependentDialects = ["::tpsp::plan::PlanDialect"];
}

def OrderSegments : Pass<"tpsp-order-segments", "::mlir::ModuleOp"> {
  let summary = "Say in which order each stage issues its segments";
  let description = [{
    For programs whose layers are divided over stages. Segments are scheduled as
    docs/Simulation.md describes, with their times on `hardware`. `stage-bound`
    limits the chunks' micro-batches that a stage has saved. The order is an
    attribute of the program. Sends and receives are on streams 1 and 2, and
    overlap within a segment has the streams after these.
  }];
  let dependentDialects = ["::tpsp::plan::PlanDialect"];
}

def Allocate : Pass<"tpsp-allocate", "::mlir::ModuleOp"> {
  let summary = "Give every buffer its offset in one arena";
  let description = [{
    Buffers that last the whole step (inputs, parameters, outputs, gradients)
    come first. Temporaries share the rest, each for its live range, by best fit
    in the order of issue. If that leaves gaps, the large ones are also placed
    by size, and the smaller arena is taken. Offsets are multiples of 64 bytes.

    With several streams, a buffer may reuse another's memory only if streams
    and events order their users. The other's last users must end before its own
    first users begin. The time is near-linear in the number of commands.

    With stages, Schedule/StageOrder.h says where buffers are.
  }];
  let dependentDialects = ["::tpsp::plan::PlanDialect"];
}

def CheckSchedule : Pass<"tpsp-check-schedule", "::mlir::ModuleOp"> {
  let summary = "Prove that every command reads what it is meant to read";
  let description = [{
    Follows the commands in order with a vector clock for each stream. For every
    range of the arena it records the buffer that owns it and the command that
    touched it last. The rules are in Schedule/ScheduleProof.h. Errors are:

    - two commands that touch the same bytes, at least one writing, without an
      order by streams and events;
    - a read of bytes that no command has written, or that another buffer has
      overwritten;
    - an output that is overwritten by the end, or a write to an argument;
    - a buffer outside the arena;
    - a wait without a record;
    - collectives of one communicator that ranks could run in different orders.

    The time is near-linear in the number of commands
    ([Overlap](../Overlap.md#the-proof)).
  }];
}

def RequireOverlap : Pass<"tpsp-require-overlap", "::mlir::ModuleOp"> {
  let summary = "Fail if too little of the communication is hidden";
  let description = [{
    Simulates the scheduled and allocated programs on `hardware`. The hidden
    share of communication must be at least `require-overlap`; otherwise the program is
    refused ([Overlap](../Overlap.md#the-contract)). The error names the exposed
    collectives, how long each is exposed, and what it waits for: a dependence,
    a buffer, or the links.

    The attribute `tpsp.overlap = 0.9` of an operation sets the same limit for
    the collectives that the operation causes, whatever `require-overlap` is.
  }];
}

#endif // TPSP_PASSES_PLANPASSES_TD
