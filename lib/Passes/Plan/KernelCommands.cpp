// Emits calls of generated kernels.
#include "CommandEmission.h"

#include "tpsp/Passes/Kernels/KernelInterfaces.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Encodes operations as pointers and counts. Values are numbered in the order
/// of occurrence, and locations are ignored.
class Fingerprint {
public:
  /// Adds an operation with everything inside it.
  void addNest(Operation *op) {
    addHead(op, op->getAttrDictionary());
    addCount(op->getNumRegions());
    for (Region &region : op->getRegions()) {
      addCount(region.getBlocks().size());
      for (Block &block : region) {
        define(block.getArguments());
        addCount(block.getOperations().size());
        for (Operation &inner : block)
          addNest(&inner);
      }
    }
  }
  /// Adds the operation, its own attributes and its tensors. Notes of passes do
  /// not affect kernels.
  void addHead(Operation *op) { addHead(op, op->getPropertiesAsAttribute()); }
  /// Adds the number of a value, or 0 for null.
  void addValue(Value value) { addCount(value ? numberOf(value) + 1 : 0); }
  void addCount(size_t count) {
    words.push_back(reinterpret_cast<const void *>(count));
  }

  size_t numberOf(Value value) {
    auto [entry, isNew] = numbers.try_emplace(value, values.size());
    if (isNew) {
      values.push_back(value);
      words.push_back(value.getType().getAsOpaquePointer());
    }
    return entry->second;
  }

  std::vector<const void *> words;
  SmallVector<Value> values; ///< by their numbers

private:
  void addHead(Operation *op, Attribute attributes) {
    words.push_back(op->getName().getAsOpaquePointer());
    words.push_back(attributes.getAsOpaquePointer());
    addCount(op->getNumOperands());
    for (Value operand : op->getOperands())
      addValue(operand);
    define(op->getResults());
  }
  void define(ValueRange made) {
    addCount(made.size());
    for (Value value : made)
      addValue(value);
  }

  llvm::DenseMap<Value, size_t> numbers;
};

} // namespace

StringAttr KernelLibrary::unique(func::FuncOp function, StringRef stem) {
  // The names are equal so far; the fingerprint tells kernels apart.
  Fingerprint fingerprint;
  fingerprint.addNest(function);
  auto [entry, isNew] = known.try_emplace(std::move(fingerprint.words));
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

DenseI64ArrayAttr tpsp::startOfPart(ProgramBuilder &to, int64_t extent,
                                    ArrayAttr axes, TileAttr tile) {
  SmallVector<int64_t> numbers = {extent, 0, 0, 0};
  if (tile) {
    numbers = {tile.getExtent(), tile.getShift(), tile.getOffset(), 0};
    axes = tile.getAxes();
  }
  llvm::append_range(numbers, idsOf(to.mesh, axes));
  return to.b.getDenseI64ArrayAttr(numbers);
}

/// Emits the call of a kernel on buffers, unless it has no outputs.
static void callKernel(ProgramBuilder &to, Location loc, StringAttr callee,
                       const Kernel &kernel, ValueRange inputs,
                       ValueRange outputs, ValueRange updated = {}) {
  auto positions =
      llvm::map_to_vector(kernel.positions, [&](const LoopIndex &index) {
        if (index.name.getValue() == microBatchPosition)
          return Attribute(to.b.getDenseI64ArrayAttr({0, 0, 0, 1}));
        return Attribute(startOfPart(to, index.extent, index.axes, index.tile));
      });
  if (!outputs.empty() || !updated.empty())
    plan::KernelOp::create(
        to.b, loc, FlatSymbolRefAttr::get(callee), inputs, outputs, updated,
        to.b.getI64IntegerAttr(kernel.grid), to.b.getArrayAttr(positions),
        to.b.getI64IntegerAttr(0));
}

static void callKernel(ProgramBuilder &to, Location loc, StringRef stem,
                       const Kernel &kernel, ValueRange inputs,
                       ValueRange outputs) {
  callKernel(to, loc, to.library.unique(kernel.function, stem), kernel, inputs,
             outputs);
}

/// Everything that the kernel of a group depends on.
static Fingerprint fingerprintOf(const KernelGroup &group,
                                 llvm::function_ref<Value(Value)> overwritten) {
  Fingerprint fingerprint;
  for (Operation *op : group.getOps())
    fingerprint.addHead(op);
  for (Value output : group.getOutputs()) {
    fingerprint.addValue(output);
    fingerprint.addValue(overwritten(output));
  }
  return fingerprint;
}

void tpsp::emitKernelCall(ProgramBuilder &to, const KernelGroup &group) {
  auto overwritten = [&](Value output) -> Value {
    return to.buffers.overwritten(output);
  };
  Fingerprint alike = fingerprintOf(group, overwritten);
  auto [entry, isNew] = to.library.ofGroups.try_emplace(alike.words);
  GroupKernel &known = entry->second;
  if (isNew) {
    known.kernel = emitKernel(group, "kernel", to.program,
                              to.library.widensSums, overwritten);
    known.callee = to.library.unique(known.kernel.function, stemOf(group));
    auto numbersOf = [&](ArrayRef<Value> values) {
      return llvm::map_to_vector<4>(
          values, [&](Value value) { return alike.numberOf(value); });
    };
    known.inputs = numbersOf(known.kernel.inputs);
    known.outputs = numbersOf(known.kernel.outputs);
    known.updated = numbersOf(known.kernel.updated);
  }
  SmallVector<Value> inputs, outputs, updated;
  for (size_t number : known.inputs)
    inputs.push_back(to.buffers.of(alike.values[number]));
  for (size_t number : known.outputs)
    outputs.push_back(to.buffers.define(alike.values[number]));
  for (size_t number : known.updated)
    updated.push_back(to.buffers.define(alike.values[number]));
  callKernel(to, group.getOps().front()->getLoc(), known.callee, known.kernel,
             inputs, outputs, updated);
}

/// The tensors of the buckets of `op`: its result, or those that its rows read.
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
