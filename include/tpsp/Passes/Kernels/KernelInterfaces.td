#ifndef TPSP_PASSES_KERNELS_KERNELINTERFACES_TD
#define TPSP_PASSES_KERNELS_KERNELINTERFACES_TD

// How kernels are made of operations that are algorithms and not loop nests.
// Each operation implements these interfaces by an external model
// (lib/Passes/Kernels).
include "mlir/IR/OpBase.td"

def Tpsp_RowKernelOpInterface : OpInterface<"RowKernelOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that is not a loop nest over its indices but an algorithm on
    rows, such as a table look-up or a selection. A work item handles all
    positions of some indices (its row) for one position along the others (the
    grid). Work items are independent. The operation becomes a kernel of its
    own.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether this operation, with its present attributes, needs its row form.
        If not, it is a loop operation.}],
      "bool", "runsByRow", (ins), "", [{ return true; }]>,
    InterfaceMethod<[{
        Names of the indices that a work item handles whole. The other indices
        of the result span the grid.}],
      "::llvm::SmallVector<::llvm::StringRef>", "getRowIndices">,
    InterfaceMethod<[{
        An index of the row that may be cut into blocks, because points along it
        are independent. A work item then handles one block of it. Empty if
        there is none.}],
      "::llvm::StringRef", "getBlockIndex", (ins), "", [{ return ""; }]>,
    InterfaceMethod<[{
        The working memory that a work item needs, where `block` is the extent
        of a block (1 without a block index); null if none.}],
      "::mlir::MemRefType", "getScratch", (ins "int64_t":$block), "",
      [{ (void)block; return {}; }]>,
    InterfaceMethod<[{
        Emits one work item. `operands` and `result` are memrefs without the
        grid's dimensions. `start` returns the global position of the first
        element of an index, of type index. `scratch` is the memory that
        getScratch() asked for. If the operation has buckets, their tensors
        follow the operands.}],
      "void", "emitRow",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$operands,
           "::mlir::Value":$result,
           "::llvm::function_ref<::mlir::Value(::llvm::StringRef)>":$start,
           "::mlir::Value":$scratch)>
  ];
}

def Tpsp_BucketKernelOpInterface : OpInterface<"BucketKernelOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that sorts integers into buckets. Each integer belongs to one
    bucket, or to none. Its outcome depends only on earlier integers in the same
    bucket. Buckets are independent, so every bucket is a work item. A range of
    buckets reads the integers once, whatever its length. A thread of a CPU
    takes many buckets, and so does a block of a GPU.

    The function first stores the initial state of every bucket, in a loop over
    the buckets. A nest of loops over the integers follows. If an integer's
    bucket is in the range, it loads the state and stores the next. The next
    state is the state plus one, or a number that depends on the integer alone.
    Such a number is not negative.
    A GPU relies on this form (lib/Passes/Device/BucketDeviceKernel.cpp); a
    function in another form has a thread for each bucket.

    The tensors that it makes are the operation's result or, if it also has a
    row form, the inputs of the row form.
  }];
  let methods = [
    InterfaceMethod<"Whether it has buckets, with its present attributes.",
      "bool", "hasBuckets", (ins), "", [{ return true; }]>,
    InterfaceMethod<"The number of buckets at one position of the grid.",
      "int64_t", "getBuckets">,
    InterfaceMethod<"The types of the tensors of i32 that it makes.",
      "::llvm::SmallVector<::mlir::RankedTensorType>", "getBucketTypes">,
    InterfaceMethod<[{
        Names of the indices that a range of buckets handles whole. The other
        indices of the tensors that it makes span the grid.}],
      "::llvm::SmallVector<::llvm::StringRef>", "getBucketIndices">,
    InterfaceMethod<"Whether every bucket needs an i32 of working memory.",
      "bool", "needsBucketScratch", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Emits the buckets from `first` up to but not including `last`, of type
        index. `integers` (the operands of integers) and `made` are memrefs
        without the grid's dimensions. `start` is as for a row. `scratch` is a
        memref of one i32 per bucket, or null if none was asked for.}],
      "void", "emitBuckets",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$integers,
           "::mlir::ValueRange":$made,
           "::llvm::function_ref<::mlir::Value(::llvm::StringRef)>":$start,
           "::mlir::Value":$first, "::mlir::Value":$last,
           "::mlir::Value":$scratch)>
  ];
}

#endif // TPSP_PASSES_KERNELS_KERNELINTERFACES_TD
