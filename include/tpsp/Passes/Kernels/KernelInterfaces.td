#ifndef TPSP_PASSES_KERNELS_KERNELINTERFACES_TD
#define TPSP_PASSES_KERNELS_KERNELINTERFACES_TD

// What kernels know of operations that are algorithms and not loop nests. Every
// operation's own is an external model (lib/Passes/Kernels).
include "mlir/IR/OpBase.td"

def Tpsp_RowKernelOpInterface : OpInterface<"RowKernelOpInterface"> {
  let cppNamespace = "::tpsp";
  let description = [{
    An operation that is not a loop nest over its indices but an algorithm on
    rows: a table looked up, a selection. A work item handles all of some indices
    (its row) for one position along the others (the grid), and work items are
    independent. It becomes a kernel of its own.
  }];
  let methods = [
    InterfaceMethod<[{
        Whether this operation, as it stands, needs its row form; if not, it is
        a loop operation.}],
      "bool", "runsByRow", (ins), "", [{ return true; }]>,
    InterfaceMethod<[{
        Names of the indices that a work item handles whole. The other indices
        of the result span the grid.}],
      "::llvm::SmallVector<::llvm::StringRef>", "getRowIndices">,
    InterfaceMethod<[{
        One of the row's indices that may be cut into blocks, because points
        along it are independent: a work item then handles one block of it.
        Empty if there is none.}],
      "::llvm::StringRef", "getBlockIndex", (ins), "", [{ return ""; }]>,
    InterfaceMethod<[{
        Working memory that a work item needs, `block` being the extent of a
        block (1 without such an index); null if none.}],
      "::mlir::MemRefType", "getScratch", (ins "int64_t":$block), "",
      [{ (void)block; return {}; }]>,
    InterfaceMethod<[{
        Emits one work item. `operands` and `result` are memrefs without the
        grid's dimensions, `start` gives the global position of the first
        element of an index, of type index, and `scratch` is as asked for. What
        the operation's buckets hold, if it has any, follows the operands.}],
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
    An operation that sorts integers into buckets. Each integer belongs to one,
    or to none. What becomes of it depends on those before it in the same
    bucket. Buckets are independent, so every bucket is a work item. A range of
    them goes through the integers once, whatever its length: a thread of a CPU
    takes many, a thread of a GPU one.

    What it makes is the operation's result or, if it also has a row form, what
    that reads.
  }];
  let methods = [
    InterfaceMethod<"Whether it has buckets, as it stands.",
      "bool", "hasBuckets", (ins), "", [{ return true; }]>,
    InterfaceMethod<"Buckets at one position along the grid.",
      "int64_t", "getBuckets">,
    InterfaceMethod<"Types of the tensors of i32 that it makes.",
      "::llvm::SmallVector<::mlir::RankedTensorType>", "getBucketTypes">,
    InterfaceMethod<[{
        Names of the indices that a range of buckets handles whole. The other
        indices of what it makes span the grid.}],
      "::llvm::SmallVector<::llvm::StringRef>", "getBucketIndices">,
    InterfaceMethod<"Whether every bucket needs an i32 of working memory.",
      "bool", "needsBucketScratch", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
        Emits the buckets from `first` to before `last`, of type index. `integers`
        (the operands that are) and `made` are memrefs without the grid's
        dimensions, `start` is as for a row. `scratch` is a memref of i32 as long as there are buckets, null if
        none was asked for.}],
      "void", "emitBuckets",
      (ins "::mlir::OpBuilder &":$builder, "::mlir::ValueRange":$integers,
           "::mlir::ValueRange":$made,
           "::llvm::function_ref<::mlir::Value(::llvm::StringRef)>":$start,
           "::mlir::Value":$first, "::mlir::Value":$last,
           "::mlir::Value":$scratch)>
  ];
}

#endif // TPSP_PASSES_KERNELS_KERNELINTERFACES_TD
