#ifndef TPSP_PASSES_LOWERINGPASSES_TD
#define TPSP_PASSES_LOWERINGPASSES_TD

// Kernels for CPUs and GPUs, and programs, to the LLVM dialect.
// docs/reference/Passes.md is made of the descriptions.

include "mlir/Pass/PassBase.td"

def EmitDeviceKernels : Pass<"tpsp-emit-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Make every kernel for GPUs, too";
  let description = [{
    Makes a `gpu.module` with a kernel for each function that a program calls,
    of the same parameters. The functions stay, so the plan still runs on CPUs.

    A block of threads does a few work items, and an item's loop nests are
    spread over its threads ([Plan](../Design/Plan.md#kernels-on-a-gpu)). If a
    function sorts integers into buckets, the warps of a block divide the
    integers ([Plan](../Design/Plan.md#scattered-sums)). Any other function is
    done in order, by one thread or by several. A missed remark names it, and
    says why.
  }];
  let options = [
    Option<"chip", "chip", "std::string", "\"sm_80\"",
           "The oldest GPU that is to run the kernels">,
    Option<"serial", "serial", "bool", "false",
           "The form of items that are done in order for every kernel, for comparison">
  ];
  let dependentDialects = ["::mlir::gpu::GPUDialect",
                           "::mlir::NVVM::NVVMDialect"];
}

def LowerKernelMath : Pass<"tpsp-lower-kernel-math", "::mlir::ModuleOp"> {
  let summary = "Expand scalar mathematics so that loops vectorise";
  let description = [{
    In kernels, exponentials and the like of f32 become polynomials, which
    vectorise. They hold for every number of f32, to about one unit in the last
    place.

    No operation gets a fast-math flag here: what a program writes is computed
    as it is written. Only sums have one, from the pass that emits them. Their
    terms may be added in any order, and an einsum's products may be fused with
    the addition.

    tpsp.random_bits becomes Philox's arithmetic. Loops whose neighbours draw
    words side by side are cut into strips first. Vectors of blocks are drawn
    into an array on the stack, and the strip's elements read it. So each block
    is drawn once, wherever rows begin, and LLVM vectorises both parts.

    bf16 conversions become integer arithmetic (f16's are the processor's), and
    bf16 values are loaded and stored as integers. LLVM would keep a bf16 across
    a branch in f32, and call a library to narrow it.

    In kernels for a GPU, bf16's conversions stay. Rotations need exp, sin and
    cos of f64, which become polynomials, too: no library of functions is
    linked. Angles of f64 are right there up to 2^30.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def CompileDeviceKernels
    : Pass<"tpsp-compile-device-kernels", "::mlir::ModuleOp"> {
  let summary = "Compile kernels for GPUs into an image and records";
  let description = [{
    Before: a `gpu.module` in the NVVM and LLVM dialects. After: its PTX, one
    constant of the module that all kernels share. Each kernel @k also gets a
    constant @k_device, the `tpsp_rt_device_kernel` of the runtime's C ABI,
    which the commands' records refer to. LLVM's NVPTX backend runs within this
    pass.

    A kernel gets none if it has a function of f64 that GPUs have no
    instructions for (all but roots, exp, sin and cos). A missed remark says so.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

def ConvertPlanToLLVM : Pass<"convert-tpsp-plan-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Convert programs to functions that call the runtime";
  let description = [{
    `plan.program @f` becomes `f(rank) -> status`: one call of the runtime's C
    ABI per command, with a constant command record. It returns at the first
    status that is not 0. Kernels must be in the LLVM dialect already.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TPSP_PASSES_LOWERINGPASSES_TD
