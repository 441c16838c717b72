#ifndef TPSP_PASSES_PASSES_TD
#define TPSP_PASSES_PASSES_TD

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// Logical: global shapes
//===----------------------------------------------------------------------===//

def SetMesh : Pass<"tpsp-set-mesh", "::mlir::ModuleOp"> {
  let summary = "Give axes of the module's mesh other sizes";
  let options = [
    ListOption<"sizes", "sizes", "std::string", "axis=size, comma-separated">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def SetElementType : Pass<"tpsp-set-element-type", "::mlir::ModuleOp"> {
  let summary = "Store all floating-point tensors in another type";
  let description = [{
    Arithmetic within kernels and sums of products stay in f32.
  }];
  let options = [
    Option<"type", "type", "std::string", /*default=*/"\"f32\"", 
           "f64, f32, bf16 or f16">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def NameValues : Pass<"tpsp-name-values", "::mlir::ModuleOp"> {
  let summary = "Give values the names that the source file has for them";
  let description = [{
    The parser keeps line numbers but not the names of SSA values. This reads
    them back from the source file, as named locations, so that the ledger can
    say `%xn`. A file that cannot be read names nothing.
  }];
}

def DecomposeEarly
    : Pass<"tpsp-decompose-early", "::mlir::ModuleOp"> {
  let summary = "Expand composites whose parts are placed one by one";
  let description = [{
    Before: attention. After: two einsums and a softmax, unplaced. Composites
    that keep their index structure (norms, softmax, rope) stay; see
    `tpsp-decompose-late`. With `keep-swept` so do those that can see an index
    block by block; see `tpsp-sweep`. With `keep-calls` so do those that a
    library does in one call; what it does not is noted in a remark.
  }];
  let options = [
    Option<"keepSwept", "keep-swept", "bool", /*default=*/"false",
           "Leave what tpsp-sweep can do block by block">,
    Option<"keepCalls", "keep-calls", "bool", /*default=*/"false",
           "Leave what a library does in one call">,
    Option<"forGpu", "for-gpu", "bool", /*default=*/"false",
           "A GPU's library">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def Sweep : Pass<"tpsp-sweep", "::mlir::ModuleOp"> {
  let summary = "Do what can be done block by block so";
  let description = [{
    On local shapes. An operation that needs an index whole, but can see it in
    blocks (attention: keys and values, with a running softmax), becomes a
    sequence over blocks of at most `longest` positions: nothing of the size of
    the whole index times anything else is in memory.

    Where the index is gathered for such operations alone, the gather becomes a
    ring: each rank begins with its own tile and passes on what it has to the
    next. What the operations make of the index and is reduce-scattered (keys'
    and values' gradients) goes tile by tile to its owner, who adds it up.

    With `keep-calls`, what a library does in one call is left; what it does
    not, as the shapes are now, is swept, and noted in a remark.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
  let options = [
    Option<"longest", "longest", "int64_t", /*default=*/"2048",
           "Positions of a block, at most">,
    Option<"keepCalls", "keep-calls", "bool", /*default=*/"false",
           "Leave what a library does in one call">,
    Option<"forGpu", "for-gpu", "bool", /*default=*/"false",
           "A GPU's library">
  ];
}

def BoundIntegers : Pass<"tpsp-bound-integers", "::mlir::ModuleOp"> {
  let summary = "The range of integer arguments, from their uses";
  let description = [{
    Token ids and the like are positions along an index: an argument of integers
    that has no `tpsp.below = N` gets the least extent that its uses ask for.
    Drivers that make up arguments need it; nothing else does.
  }];
}

def InitializeArguments
    : Pass<"tpsp-initialize-arguments", "::mlir::ModuleOp"> {
  let summary = "How random parameters scatter, from their uses";
  let description = [{
    A parameter that has no `tpsp.mean` or `tpsp.deviation` gets what models
    commonly begin with, by what the program does with it: 0.02 around 0 if it
    is looked up or added, 1 / sqrt(fan-in) around 0 if an einsum sums over it,
    0.02 around 1 if it only multiplies. Drivers that make up arguments need
    it; nothing else does.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def FreezeInputs : Pass<"tpsp-freeze-inputs", "::mlir::ModuleOp"> {
  let summary = "No gradients of inputs";
  let description = [{
    Marks `tpsp.frozen` what is no parameter and has a gradient.
  }];
}

def KeepMasks : Pass<"tpsp-keep-masks", "::mlir::ModuleOp"> {
  let summary = "Store dropout masks instead of drawing them again";
  let description = [{
    Every dropout becomes a mask of i8 and its application: the backward pass
    then reads the mask that the forward pass has made. It costs a byte per
    element from one to the other; drawing it again costs some arithmetic.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def SeedCalls : Pass<"tpsp-seed-calls", "::mlir::ModuleOp"> {
  let summary = "Give every call of a function dropouts of its own";
  let description = [{
    A dropout keeps what its seed says; a layer that is called for each of 32
    layers would drop the same places in all. Before calls are inlined, every
    call of a function that draws but the first calls a copy, whose seeds are
    the program's and, in the upper 32 bits, the number of the call, counted
    over the whole program in the order of execution.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def CheckProgram : Pass<"tpsp-check-program", "::mlir::ModuleOp"> {
  let summary = "Refuse what is MLIR and no program, warn of what is seldom meant";
  let description = [{
    Before calls are inlined, so that a function is spoken of once. Refused are
    operations that are not tpsp's, calls of what has no body, and recursion.
    Warned of is an index that one of several operands of an einsum alone
    carries: it is summed over, and so is one that was misspelt, on each of the
    operands, which makes a number that is silently wrong.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def ReturnChoices : Pass<"tpsp-return-choices", "::mlir::ModuleOp"> {
  let summary = "Return what was decided by comparing numbers";
  let description = [{
    Adds every tensor of integers that comes of floating-point ones (a router's
    experts) to its function's results. Rounding may tip such a choice, and all
    that follows it differs; what evaluates the same program elsewhere can be
    told the choices that were made. For `tpsp-run --verify` and `--emit`.
  }];
  let dependentDialects = ["::tpsp::TpspDialect", "::mlir::func::FuncDialect"];
}

def Propagate
    : Pass<"tpsp-propagate", "::mlir::ModuleOp"> {
  let summary = "Fill in missing placements from those given";
  let description = [{
    Follows every index forwards and backwards through the operations that map
    it, never onto an index that must be whole, until nothing changes; what is
    still open is replicated. Where two operands put one axis on different
    indices of a result, the axis's role decides: on a model axis the
    parameter's index stays, on a data axis the activation's. Likewise where an
    operand alone has the axis on an index that is summed away: a parameter on a
    data axis is gathered first, else the sum is reduced. Without a role the
    program is refused, with both ways priced. Nothing that the user wrote is
    changed.
  }];
  let options = [
    Option<"mark", "mark", "bool", /*default=*/"false",
           "Mark operations whose result was placed here (tpsp.propagated)">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def ShardReplicated : Pass<"tpsp-shard-replicated", "::mlir::ModuleOp"> {
  let summary = "Shard what is replicated only because nothing was put on it";
  let description = [{
    Before: values behind an all-reduce that are replicated over its axis
    because propagation put nothing there. After: the axis is on one index of
    all of them that are connected by operations that map the index, so that
    the all-reduce is a reduce-scatter and the all-gather comes at their
    consumers: tensor parallelism becomes tensor and sequence parallelism.
    Needs `tpsp-propagate=mark=true`: what the user placed is never changed,
    nor what a function returns. Before tpsp-differentiate. Sets `tpsp.note` on
    every operation whose result it sharded.
  }];
  let options = [
    Option<"goal", "goal", "std::string", /*default=*/"\"memory\"",
           "memory: wherever possible; time: where it makes the step faster">,
    Option<"hardware", "hardware", "std::string", "\"cpu\"",
           "For time: a built-in description, or a JSON file">,
    Option<"threads", "threads", "int64_t", "0",
           "For time: compute threads of a rank, on CPUs; 0: cores / ranks">,
    Option<"grad", "grad", "bool", "false",
           "For time: the step will have a backward pass">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def Differentiate : Pass<"tpsp-differentiate", "::mlir::ModuleOp"> {
  let summary = "Add the backward pass of a function";
  let description = [{
    For a function `f(args) -> results` adds `f_grad(args, cotangents of the
    results) -> (results, gradients of the floating-point args that are not
    `tpsp.frozen`)`: the vector-Jacobian product, at the logical level. A
    gradient has the placement of its tensor; contributions to one gradient are
    unplaced and summed before anything is reduced. Operations of the backward
    pass carry `tpsp.backward`.
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
    `f_grad` computes all that `f` does. Where only the former is run, the
    latter need not be compiled.
  }];
}

def Rematerialize : Pass<"tpsp-rematerialize", "::mlir::ModuleOp"> {
  let summary = "Redo parts of the forward pass instead of keeping what they made";
  let description = [{
    After differentiation and before collectives, so that the collectives of
    what is redone are found as all others are. What the backward pass uses and
    does not keep is computed again, just before its first use there, from what
    is kept: with "none" all that is used is kept; with "selective" all but the
    results of operations marked `tpsp.recompute`, which composites set on parts
    that are cheap to redo for their size (attention's scores and softmax); with
    "full" a layer's inputs only. A layer is a call that was inlined; a program
    without calls is one layer. What is redone carries `tpsp.backward` and
    `tpsp.recomputed`.
  }];
  let options = [
    Option<"mode", "mode", "std::string", /*default=*/"\"none\"",
           "none, selective or full">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def MicroBatch : Pass<"tpsp-micro-batch", "::mlir::ModuleOp"> {
  let summary = "Do a step part by part of the batch";
  let description = [{
    Before: one forward and one backward pass over the whole batch. After:
    `parts` of each, one part of the batch after the other, so that activations
    of one part live at a time. Arguments that carry `index` are cut within
    every rank's own shard, results that carry it are stacked, and results that
    lack it are added up: the parts' sums are unplaced, with the declared
    placement as their goal (`tpsp.goal`), and the last addition has it, so that
    a gradient is reduced once. A result that is not a sum over the batch is refused. After
    tpsp-differentiate, before tpsp-insert-collectives.
  }];
  let options = [
    Option<"parts", "parts", "int64_t", /*default=*/"1",
           "Number of micro-batches">,
    Option<"index", "index", "std::string", /*default=*/"\"b\"",
           "The index to cut">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

def InsertCollectives
    : Pass<"tpsp-insert-collectives", "::mlir::ModuleOp"> {
  let summary = "Make every operation agree with its compute placement";
  let description = [{
    For every operation, forward and backward alike, chooses what each mesh axis
    drives (Algebra/ComputePlacement.h) and brings operands and result to the
    placements that follow, by collectives. An unplaced result takes the
    placement it comes out with, which may be partial. Each collective carries
    the rule that asked for it (`reason`).
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def FuseCollectives
    : Pass<"tpsp-fuse-collectives", "::mlir::ModuleOp"> {
  let summary = "Share and fuse collectives where that is always right";
  let description = [{
    One collective for several users of the same movement of the same tensor
    within the forward or the backward pass; a collective whose only use is
    another becomes the direct transition between the outer placements (an
    all-reduce then a slice is a reduce-scatter). Never adds a collective or a
    byte. With `keep-gathered` the backward pass uses the forward pass's gathers
    too: fewer bytes sent, more memory.
  }];
  let options = [
    Option<"keepGathered", "keep-gathered", "bool", /*default=*/"false",
           "Keep gathered tensors for the backward pass">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def BucketCollectives
    : Pass<"tpsp-bucket-collectives", "::mlir::ModuleOp"> {
  let summary = "Reduce several tensors in one collective";
  let description = [{
    All-reduces over the same axes that do not wait for each other become one
    all-reduce of several tensors, where the last of them is ready: gradients
    that are only returned among themselves, others where no user stands
    between. A bucket holds at most `bytes` of what one rank reduces, or one
    tensor.
  }];
  let options = [
    Option<"bytes", "bytes", "int64_t", /*default=*/"25 << 20",
           "Size of a bucket; 0 is one for each tensor">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def PrintExplanation : Pass<"tpsp-print-explanation", "::mlir::ModuleOp"> {
  let summary = "Print a program in sharded einsum notation, with its ledger";
  let description = [{
    To standard output: every operation as an equation over the tensors as they
    lie, under it every collective (">") that it needs, with its axes, index,
    bytes per rank, the rule that asked for it and the source line; then totals
    for each phase, kind and axes. A collective that only the function's result
    waits for (a bucket) stands by itself. Every collective is an analysis
    remark too. Best after `tpsp-bucket-collectives`; `--tpsp-explain` is the
    whole way there.

    Parts of an adjoint are one equation (`g[x] = rms_norm'(...)`), and layers
    that come again are written once, with how often. Every name means one
    tensor.
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
           "Write layers that come again every time">
  ];
}

//===----------------------------------------------------------------------===//
// Local: one rank's shapes
//===----------------------------------------------------------------------===//

def Partition : Pass<"tpsp-partition", "::mlir::ModuleOp"> {
  let summary = "Global shapes to one rank's";
  let description = [{
    Proves that every operation agrees with a compute placement that needs no
    communication, then gives every tensor its local shape. The subscripts stay,
    marked `local`: they say where on the mesh a rank's part lies. Collectives
    over a single rank vanish, unless they are to be kept.
  }];
  let options = [
    Option<"keepTrivial", "keep-trivial", "bool", "false",
           "Keep collectives over a single rank">
  ];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

def DecomposeLate
    : Pass<"tpsp-decompose-late", "::mlir::ModuleOp"> {
  let summary = "Expand the remaining composites into loops";
  let description = [{
    Norms, softmax and rope become pointwise operations, reductions and views on
    local shapes, which kernels are made of.
  }];
  let dependentDialects = ["::tpsp::TpspDialect"];
}

//===----------------------------------------------------------------------===//
// Plan: commands on buffers
//===----------------------------------------------------------------------===//

def ConvertTpspToPlan : Pass<"convert-tpsp-to-plan", "::mlir::ModuleOp"> {
  let summary = "Local operations to commands on buffers";
  let description = [{
    Every function becomes a `plan.program` of its name: products become matmul
    commands where a layout allows, chains of loop operations kernels, and
    collectives their commands. Equal kernels are one function.
  }];
  let dependentDialects = [
    "::tpsp::TpspDialect", "::tpsp::plan::PlanDialect",
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def FuseEpilogues : Pass<"tpsp-fuse-epilogues", "::mlir::ModuleOp"> {
  let summary = "Move what reads a product element by element into its matmul";
  let description = [{
    Before: a matmul, and a kernel that adds a vector along its columns, takes
    the GELU of it (tanh form) and keeps the GELU's argument, or multiplies it by
    the GELU's derivative. After: one matmul with that epilogue, where the kernel
    was. Likewise a kernel that adds up a tensor over all but its last indices,
    which a matmul reads as an operand and sums over the same ones: the bias
    gradient comes with the weight gradient.

    A kernel is known by its loops and their arithmetic, whatever it was made
    from. It goes only whole: every result of it must be some matmul's. What
    stands in the way is a missed remark: another reader of the product between,
    a collective, an order of indices, f64, an alignment that cuBLASLt lacks. A
    fusion that `hardware` is not faster with is not made. Between
    convert-tpsp-to-plan and tpsp-overlap.
  }];
  let dependentDialects = ["::tpsp::plan::PlanDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
  let options = [
    Option<"hardware", "hardware", "std::string", "\"cpu\"",
           "The machine: a built-in description, or a JSON file">,
    Option<"threads", "threads", "int64_t", "0",
           "Compute threads of a rank, on CPUs; 0: cores / ranks">
  ];
}

def Allocate : Pass<"tpsp-allocate", "::mlir::ModuleOp"> {
  let summary = "Offsets of all buffers in one arena";
  let description = [{
    Buffers that last the whole step come first; temporaries share what follows,
    each from its first write to its last use, by best fit. Near-linear in the
    number of commands.
  }];
  let dependentDialects = ["::tpsp::plan::PlanDialect"];
}

def Overlap : Pass<"tpsp-overlap", "::mlir::ModuleOp"> {
  let summary = "Put collectives on streams of their own, under computation";
  let description = [{
    List scheduling of the program's commands on the cost model of `hardware`:
    a collective begins as soon as its inputs and buffers allow, its users wait
    as late as they can, and work that nobody waits for (weight gradients) fills
    the gaps. Each communicator has a stream; events order the streams. What
    arrives early, or waits to be sent, is bounded to `buffers` times what the
    program needs anyway: two make FSDP's two alternating buffers.

    What stays exposed beside a product is cut with it into tiles: an all-gather
    into the hops of a ring, the rank's own tile multiplied first, each in one
    or several parts; a product before a reduction into chunks, of rows or of
    columns (Passes/CollectiveCuts.h).

    A schedule that the simulator does not find faster than one command after
    another is not taken. Runs between convert-tpsp-to-plan and tpsp-allocate.
  }];
  let dependentDialects = ["::tpsp::plan::PlanDialect"];
  let options = [
    Option<"hardware", "hardware", "std::string", "\"cpu\"",
           "The machine: a built-in description, or a JSON file">,
    Option<"threads", "threads", "int64_t", "0",
           "Compute threads of a rank, on CPUs; 0: cores / ranks">,
    Option<"buffers", "buffers", "int64_t", "0",
           "How many times the memory for communication that the program needs "
           "one command after another; 0: 2, or more if that saves more of the "
           "time than it adds to the memory">,
    Option<"chunks", "chunks", "int64_t", "0",
           "Cut everything that can be cut, reductions into this many chunks, "
           "tiles of rings into this many parts; 0: what stays exposed, if it "
           "helps; 1: nothing">,
    Option<"share", "share", "double", "0.0",
           "The share of communication that should be hidden: take as many "
           "buffers as that needs">
  ];
}

def CheckSchedule : Pass<"tpsp-check-schedule", "::mlir::ModuleOp"> {
  let summary = "Prove that every command reads what it means to";
  let description = [{
    Follows the commands in order with a vector clock for each stream, and keeps
    for every byte of the arena which buffer owns it and who touched it last.
    Errors are: two commands that touch the same bytes, one writing, and are not
    ordered by streams and events; a read of what nothing has written, or what
    another buffer has overwritten; an output that is not there at the end; a
    buffer outside the arena; a wait without a record; collectives of one
    communicator that ranks could run in different orders. Near-linear. The
    rules are in Planner/ScheduleProof.h.
  }];
}

def RequireOverlap : Pass<"tpsp-require-overlap", "::mlir::ModuleOp"> {
  let summary = "Fail if too little of the communication is hidden";
  let description = [{
    Simulates the scheduled, allocated programs on `hardware`. If less than
    `share` of the time in which collectives run is also time in which the rank
    computes, the program is refused, with the collectives that are exposed, by
    how much, and what each waits for: a dependence, a buffer, or the links. An
    operation with an attribute `tpsp.overlap = 0.9` asks the same of the
    collectives that it causes, whatever `share` is.
  }];
  let options = [
    Option<"share", "share", "double", "0.0",
           "What must be hidden, from 0 to 1">,
    Option<"hardware", "hardware", "std::string", "\"cpu\"",
           "The machine: a built-in description, or a JSON file">,
    Option<"threads", "threads", "int64_t", "0",
           "Compute threads of a rank, on CPUs; 0: cores / ranks">
  ];
}

def EmitDeviceKernels : Pass<"tpsp-emit-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Every kernel once more, for a GPU";
  let description = [{
    Makes a `gpu.module` with a kernel for each function that a program calls,
    of the same parameters. A block of threads does a few work items: loop nests
    are spread over an item's threads, with barriers between those that read
    what other threads wrote; rows that are kept between loops lie in the
    block's memory, sums are combined by shuffles. What is no sequence of loop
    nests, a thread does alone; a remark says so. The functions stay, for CPUs.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_80\"",
           "The oldest GPU that is to run the kernels">,
    Option<"serial", "serial", "bool", "false",
           "A thread does a work item alone, in every kernel: for comparison">
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def LowerKernelMath : Pass<"tpsp-lower-kernel-math", "::mlir::ModuleOp"> {
  let summary = "Scalar mathematics that the vectoriser can see through";
  let description = [{
    In kernels: exponentials and the like of f32 become polynomials, bf16
    conversions integer arithmetic, and sums may be reordered.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
}

def CompileDeviceKernels
    : Pass<"tpsp-compile-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Kernels for GPUs to an image and records";
  let description = [{
    Before: a `gpu.module` in the NVVM and LLVM dialects. After: its PTX, a
    constant of the module that all kernels share, and for each kernel @k a
    constant @k_device, the `tpsp_rt_device_kernel` of the runtime's C ABI. A
    kernel that the target has no instructions for (functions of f64 other than
    square roots) gets no record; a remark says so.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ConvertPlanToLLVM : Pass<"convert-tpsp-plan-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Programs to functions that call the runtime";
  let description = [{
    `plan.program @f` becomes `f(rank) -> status`: one call of the runtime's C
    ABI per command, with a constant command record, returning at the first
    status that is not 0. Kernels must be in the LLVM dialect already.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TPSP_PASSES_PASSES_TD
