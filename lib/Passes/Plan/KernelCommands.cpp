// Calls of generated kernels.
#include "CommandEmission.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Writes down all of an operation but its location: values as their numbers,
/// in the order in which they are made.
class Fingerprint {
public:
  explicit Fingerprint(Operation *op) { add(op); }
  std::vector<const void *> take() { return std::move(words); }

private:
  void add(Operation *op) {
    add(op->getName().getAsOpaquePointer());
    add(op->getAttrDictionary().getAsOpaquePointer());
    addCount(op->getNumOperands());
    for (Value operand : op->getOperands())
      addCount(numbers.lookup(operand));
    define(op->getResults());
    addCount(op->getNumRegions());
    for (Region &region : op->getRegions()) {
      addCount(region.getBlocks().size());
      for (Block &block : region)
        add(block);
    }
  }
  void add(Block &block) {
    define(block.getArguments());
    addCount(block.getOperations().size());
    for (Operation &op : block)
      add(&op);
  }
  void define(ValueRange values) {
    addCount(values.size());
    for (Value value : values) {
      numbers.try_emplace(value, numbers.size());
      add(value.getType().getAsOpaquePointer());
    }
  }
  void addCount(size_t count) { add(reinterpret_cast<const void *>(count)); }
  void add(const void *word) { words.push_back(word); }

  std::vector<const void *> words;
  llvm::DenseMap<Value, size_t> numbers;
};

} // namespace

StringAttr KernelLibrary::unique(func::FuncOp function, StringRef stem) {
  // The names are equal so far: what differs is the kernel.
  auto [entry, isNew] = known.try_emplace(Fingerprint(function).take());
  if (!isNew) {
    function.erase();
    return entry->second;
  }
  function.setSymName(("kernel" + Twine(known.size() - 1) + "_" + stem).str());
  return entry->second = function.getSymNameAttr();
}

/// Axes as positions in the mesh.
static SmallVector<int64_t> idsOf(const Mesh &mesh, ArrayAttr axes) {
  return llvm::map_to_vector(
      axes.getAsRange<StringAttr>(),
      [&](StringAttr axis) -> int64_t { return *mesh.find(axis.getValue()); });
}

/// [extent of a shard, shift, offset, axes...]
static Attribute positionOf(ProgramBuilder &to, const LoopIndex &index) {
  SmallVector<int64_t> numbers = {index.extent, 0, 0};
  ArrayAttr axes = index.axes;
  if (TileAttr tile = index.tile) {
    numbers = {tile.getExtent(), tile.getShift(), tile.getOffset()};
    axes = tile.getAxes();
  }
  llvm::append_range(numbers, idsOf(to.mesh, axes));
  return to.b.getDenseI64ArrayAttr(numbers);
}

/// Calls a kernel on buffers; one that makes nothing is not called.
static void callKernel(ProgramBuilder &to, Location loc, StringRef stem,
                       const Kernel &kernel, ValueRange inputs,
                       ValueRange outputs, ValueRange updated = {}) {
  auto positions =
      llvm::map_to_vector(kernel.positions, [&](const LoopIndex &index) {
        return positionOf(to, index);
      });
  StringAttr callee = to.library.unique(kernel.function, stem);
  if (!outputs.empty() || !updated.empty())
    plan::KernelOp::create(
        to.b, loc, FlatSymbolRefAttr::get(callee), inputs, outputs, updated,
        to.b.getI64IntegerAttr(kernel.grid), to.b.getArrayAttr(positions),
        to.b.getI64IntegerAttr(0));
}

void tpsp::emitKernelCall(ProgramBuilder &to, const KernelGroup &group) {
  Kernel kernel =
      emitKernel(group, "kernel", to.program, [&](Value output) -> Value {
        return to.buffers.overwritten(output);
      });
  SmallVector<Value> inputs = to.buffers.of(kernel.inputs), outputs, updated;
  for (Value value : kernel.outputs)
    outputs.push_back(to.buffers.define(value));
  for (Value value : kernel.updated)
    updated.push_back(to.buffers.define(value));
  callKernel(to, group.getOps().front()->getLoc(), stemOf(group), kernel,
             inputs, outputs, updated);
}

/// What the buckets of `op` hold: its result, or tensors that its rows read.
static SmallVector<Value> emitBuckets(ProgramBuilder &to,
                                      BucketKernelOpInterface op) {
  bool hasRows = isa<RowKernelOpInterface>(*op);
  SmallVector<Value> made;
  if (hasRows)
    for (RankedTensorType type : op.getBucketTypes())
      made.push_back(to.buffers.temporary(type, op.getLoc()));
  else
    made.push_back(to.buffers.define(op->getResult(0)));
  Kernel kernel = emitBucketKernel(op, "kernel", to.program);
  StringRef stem = op->getName().stripDialect();
  callKernel(to, op.getLoc(), hasRows ? (stem + "_lists").str() : stem.str(),
             kernel, to.buffers.of(kernel.inputs), made);
  return made;
}

void tpsp::emitRowKernels(ProgramBuilder &to, Operation *op) {
  SmallVector<Value> inputs = to.buffers.of(op->getOperands());
  auto bucket = dyn_cast<BucketKernelOpInterface>(op);
  if (bucket && bucket.hasBuckets())
    llvm::append_range(inputs, emitBuckets(to, bucket));
  if (auto row = dyn_cast<RowKernelOpInterface>(op))
    callKernel(to, op->getLoc(), op->getName().stripDialect(),
               emitRowKernel(row, "kernel", to.program), inputs,
               to.buffers.define(op->getResult(0)));
}

void tpsp::emitBlockCopyKernel(ProgramBuilder &to, BlockCopyOpInterface op) {
  BlockCopyKernel copy = emitBlockCopy(op, "kernel", to.program);
  auto viewed = [&](Value buffer, MemRefType type) -> Value {
    if (buffer.getType() == type)
      return buffer;
    return plan::ViewOp::create(to.b, buffer.getLoc(), type, buffer);
  };
  SmallVector<Value> inputs;
  for (auto [operand, type] : llvm::zip_equal(op->getOperands(), copy.inputs))
    inputs.push_back(viewed(to.buffers.of(operand), type));
  Value output = viewed(to.buffers.define(op->getResult(0)), copy.output);
  Kernel kernel;
  kernel.function = copy.function;
  kernel.grid = copy.grid;
  callKernel(to, op.getLoc(), op->getName().stripDialect(), kernel, inputs,
             output);
}
