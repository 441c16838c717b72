// Emits the function of a kernel, as linalg on rows of memrefs.
#include "KeptRows.h"

#include "tpsp/Dialect/Tpsp/Operations/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace tpsp;

namespace {

/// The memory of each of some tensors.
using MemoryMap = llvm::DenseMap<Value, Value>;

/// A kernel's function, and the meaning of its arguments.
struct KernelFunction {
  func::FuncOp op;
  /// The memory of whole tensors.
  MemoryMap memory;
  /// The first global position of the indices whose position is needed.
  llvm::DenseMap<StringAttr, Value> start;
  /// The range of work items.
  Value begin, end;
};

/// A work item, or a range of them.
struct WorkItem {
  /// For a range: its first item and its number of items.
  Value first, count;
  /// The position of each index of the grid.
  llvm::DenseMap<StringAttr, Value> coordinate;
};

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// The start of an index's positions, emitted so that LLVM sees which power of
/// two divides it. Then it knows which neighbours share random bits.
Value evenStart(OpBuilder &b, Location loc, const LoopIndex &index,
                Value start) {
  TileAttr tile = index.tile;
  int64_t step =
      tile ? std::gcd(tile.getExtent(), tile.getOffset()) : index.extent;
  int64_t even = step & -step;
  if (even <= 1)
    return start;
  Value mask = arith::ConstantIndexOp::create(b, loc, -even);
  return arith::AndIOp::create(b, loc, start, mask);
}

/// Creates the function; leaves `b` in its body.
KernelFunction createFunction(OpBuilder &b, Location loc, StringRef name,
                              const KernelLoops &kernel) {
  KernelFunction function;
  auto tensors = llvm::concat<const Value>(kernel.inputs, kernel.outputs);
  SmallVector<Type> buffers;
  for (Value value : tensors)
    buffers.push_back(memrefOf(value.getType()));
  function.op =
      createKernelFunction(b, loc, name, buffers, kernel.positions.size());
  Block *body = function.op.addEntryBlock();
  b.setInsertionPointToStart(body);
  unsigned next = 0;
  for (Value value : tensors)
    function.memory[value] = body->getArgument(next++);
  for (const LoopIndex &index : kernel.positions)
    function.start[index.name] =
        evenStart(b, loc, index, body->getArgument(next++));
  function.begin = body->getArgument(next++);
  function.end = body->getArgument(next++);
  return function;
}

/// Allocates, on the stack, values that are kept within a work item, and sums
/// whose storage type is narrower than their arithmetic.
MemoryMap allocateRows(OpBuilder &b, Location loc, const KernelGroup &group,
                       const KernelLoops &kernel,
                       const KernelFunction &function) {
  MemoryMap rows;
  for (const KeptRow &row : keptRowsOf(group, kernel)) {
    SmallVector<int64_t> shape;
    SmallVector<Value> sizes;
    for (const LoopIndex &index : row.indices) {
      bool isRange = kernel.range == index;
      shape.push_back(isRange ? ShapedType::kDynamic : index.extent);
      if (isRange)
        sizes.push_back(
            arith::SubIOp::create(b, loc, function.end, function.begin));
    }
    LoopOpInterface op = row.op;
    rows[op->getResult(0)] = memref::AllocaOp::create(
        b, loc, MemRefType::get(shape, row.element), sizes);
  }
  return rows;
}

WorkItem decodeItem(OpBuilder &b, Location loc, ArrayRef<LoopIndex> grid,
                    Value number) {
  WorkItem item;
  Value rest = number;
  for (auto [i, index] : llvm::enumerate(llvm::reverse(grid))) {
    bool outermost = i + 1 == grid.size();
    Value extent = arith::ConstantIndexOp::create(b, loc, index.extent);
    item.coordinate[index.name] =
        outermost ? rest : Value(arith::RemUIOp::create(b, loc, rest, extent));
    if (!outermost)
      rest = arith::DivUIOp::create(b, loc, rest, extent);
  }
  return item;
}

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

/// Converts a value between its storage type and its compute type.
Value converted(OpBuilder &b, Location loc, Value value, Type to) {
  if (value.getType() == to)
    return value;
  auto from = cast<FloatType>(value.getType());
  auto target = cast<FloatType>(to);
  if (from.getWidth() < target.getWidth())
    return arith::ExtFOp::create(b, loc, target, value);
  return arith::TruncFOp::create(b, loc, target, value);
}

Value combined(OpBuilder &b, Location loc, LoopOpInterface op, Value sum,
               Value value) {
  if (isMaximum(op))
    return arith::MaximumFOp::create(b, loc, sum, value);
  return addTerm(b, loc, sum, value);
}

void fillNeutral(OpBuilder &b, Location loc, LoopOpInterface op, Value target) {
  auto element =
      cast<FloatType>(cast<MemRefType>(target.getType()).getElementType());
  const llvm::fltSemantics &semantics = element.getFloatSemantics();
  APFloat neutral = isMaximum(op) ? APFloat::getInf(semantics, true)
                                  : APFloat::getZero(semantics);
  Value constant =
      arith::ConstantOp::create(b, loc, FloatAttr::get(element, neutral));
  linalg::FillOp::create(b, loc, constant, target);
}

//===----------------------------------------------------------------------===//
// A work item
//===----------------------------------------------------------------------===//

class ItemEmitter {
public:
  /// `rows`: the memory of values that are kept on the stack.
  ItemEmitter(OpBuilder &b, Location loc, const KernelLoops &kernel,
              const KernelFunction &function, const MemoryMap &rows,
              const WorkItem &item)
      : b(b), loc(loc), kernel(kernel), function(function), rows(rows),
        item(item) {}

  void emitLoop(const KernelLoop &loop) {
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    for (Value value : loop.read) {
      inputs.push_back(readFrom(value));
      maps.push_back(mapOf(value.getType(), loop));
    }
    if (!loop.hidden.empty()) {
      inputs.push_back(spaceOf(loop));
      maps.push_back(AffineMap::getMultiDimMapWithTargets(
          loop.indices.size(), loop.hidden, b.getContext()));
    }
    for (LoopOpInterface op : loop.stored) {
      Value target = readFrom(op->getResult(0));
      if (kernel.reduces(op))
        fillNeutral(b, loc, op, target);
      outputs.push_back(target);
      maps.push_back(mapOf(op->getResult(0).getType(), loop));
    }
    auto body = [&](OpBuilder &inner, Location, ValueRange arguments) {
      emitBody(inner, loop, arguments.take_front(loop.read.size()),
               arguments.drop_front(inputs.size()));
    };
    linalg::GenericOp::create(b, loc, inputs, outputs, maps, iterators(loop),
                              body);
    for (LoopOpInterface op : loop.stored)
      narrow(op);
  }

private:
  /// The part of a tensor in memory that belongs to the work item.
  Value sliceOf(Value value) {
    if (Value &known = slices[value])
      return known;
    SmallVector<OpFoldResult> offsets, sizes;
    SmallVector<int64_t> shape;
    for (const LoopIndex &index : loopIndices(value.getType())) {
      if (kernel.inGrid(index)) {
        offsets.push_back(item.coordinate.lookup(index.name));
        sizes.push_back(b.getIndexAttr(1));
        continue;
      }
      bool isRange = kernel.range == index;
      offsets.push_back(isRange ? OpFoldResult(item.first)
                                : OpFoldResult(b.getIndexAttr(0)));
      sizes.push_back(isRange ? OpFoldResult(item.count)
                              : OpFoldResult(b.getIndexAttr(index.extent)));
      shape.push_back(isRange ? ShapedType::kDynamic : index.extent);
    }
    return slices[value] = createSlice(b, loc, function.memory.lookup(value),
                                       offsets, sizes, shape);
  }

  /// The memory from which a later loop reads a value: its kept row, else its
  /// buffer.
  Value readFrom(Value value) {
    Value row = rows.lookup(value);
    return row ? row : sliceOf(value);
  }

  AffineMap mapOf(Type type, const KernelLoop &loop) const {
    SmallVector<AffineExpr> dims;
    for (const LoopIndex &index : kernel.rowOf(type)) {
      auto at = llvm::find(loop.indices, index) - loop.indices.begin();
      dims.push_back(getAffineDimExpr(at, b.getContext()));
    }
    return AffineMap::get(loop.indices.size(), 0, dims, b.getContext());
  }

  /// An operand that only gives the extents of the hidden indices. It repeats
  /// one element of some buffer, which the loop does not use.
  Value spaceOf(const KernelLoop &loop) {
    Value source =
        kernel.inputs.empty() ? kernel.outputs.front() : kernel.inputs.front();
    SmallVector<int64_t> sizes, strides(loop.hidden.size(), 0);
    for (unsigned at : loop.hidden)
      sizes.push_back(loop.indices[at].extent);
    Value buffer = function.memory.lookup(source);
    auto type = MemRefType::get(
        sizes, cast<MemRefType>(buffer.getType()).getElementType(),
        StridedLayoutAttr::get(b.getContext(), /*offset=*/0, strides));
    return memref::ReinterpretCastOp::create(b, loc, type, buffer,
                                             /*offset=*/0, sizes, strides);
  }

  SmallVector<utils::IteratorType> iterators(const KernelLoop &loop) const {
    SmallVector<utils::IteratorType> types;
    for (const LoopIndex &index : loop.indices) {
      bool isParallel = llvm::all_of(loop.stored, [&](LoopOpInterface op) {
        return llvm::is_contained(kernel.rowOf(op->getResult(0).getType()),
                                  index);
      });
      types.push_back(isParallel ? utils::IteratorType::parallel
                                 : utils::IteratorType::reduction);
    }
    return types;
  }

  /// Emits the body with an `inner` builder. `elements` are the values that the
  /// loop reads, `sums` those of the sums so far.
  void emitBody(OpBuilder &inner, const KernelLoop &loop, ValueRange elements,
                ValueRange sums) {
    llvm::DenseMap<Value, Value> scalar;
    for (auto [value, argument] : llvm::zip_equal(loop.read, elements))
      scalar[value] = converted(inner, loc, argument,
                                computeType(getElementTypeOrSelf(value)));
    auto position = [&](StringRef name) -> Value {
      return positionOf(inner, loop, name);
    };
    for (LoopOpInterface op : loop.ops) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(scalar[operand]);
      Value result = op->getResult(0);
      // 64-bit tensors are computed in 64 bits. A conversion from or to them
      // also meets 32-bit values.
      scalar[result] =
          converted(inner, loc, op.emitScalar(inner, operands, position),
                    computeType(getElementTypeOrSelf(result)));
    }
    SmallVector<Value> yielded;
    for (auto [op, argument] : llvm::zip_equal(loop.stored, sums)) {
      Value value = scalar[op->getResult(0)];
      if (kernel.reduces(op))
        value = combined(inner, loc, op, argument,
                         converted(inner, loc, value, argument.getType()));
      yielded.push_back(converted(inner, loc, value, argument.getType()));
    }
    linalg::YieldOp::create(inner, loc, yielded);
  }

  Value positionOf(OpBuilder &inner, const KernelLoop &loop, StringRef name) {
    auto key = StringAttr::get(inner.getContext(), name);
    if (name == microBatchPosition)
      return function.start.lookup(key);
    Value here = item.coordinate.lookup(key);
    if (!here) {
      const auto *index = llvm::find_if(
          loop.indices, [&](const LoopIndex &i) { return i.name == key; });
      here = linalg::IndexOp::create(inner, loc, index - loop.indices.begin());
      if (kernel.range == *index)
        here = arith::AddIOp::create(inner, loc, here, item.first);
    }
    if (Value first = function.start.lookup(key))
      here = arith::AddIOp::create(inner, loc, here, first);
    return here;
  }

  /// Copies a sum in its wide type to an output of a narrower type.
  void narrow(LoopOpInterface op) {
    Value result = op->getResult(0), wide = rows.lookup(result);
    if (!wide || !kernel.isOutput(result))
      return;
    unsigned rank = kernel.rowOf(result.getType()).size();
    SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> types(rank, utils::IteratorType::parallel);
    linalg::GenericOp::create(
        b, loc, ValueRange{wide}, ValueRange{sliceOf(result)}, maps, types,
        [&](OpBuilder &inner, Location, ValueRange arguments) {
          Type element = arguments[1].getType();
          Value sum = converted(inner, loc, arguments[0], computeType(element));
          linalg::YieldOp::create(inner, loc,
                                  converted(inner, loc, sum, element));
        });
  }

  OpBuilder &b;
  Location loc;
  const KernelLoops &kernel;
  const KernelFunction &function;
  const MemoryMap &rows;
  const WorkItem &item;
  MemoryMap slices;
};

} // namespace

MemRefType tpsp::memrefOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return MemRefType::get(tensor.getShape(), tensor.getElementType());
}

func::FuncOp tpsp::createKernelFunction(OpBuilder &b, Location loc,
                                        StringRef name, ArrayRef<Type> buffers,
                                        size_t positions) {
  SmallVector<Type> types(buffers);
  types.append(positions + 2, b.getIndexType());
  auto function =
      func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
  function.setPrivate();
  // Without noalias no loop would be vectorised.
  for (size_t i = 0; i < buffers.size(); ++i)
    function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        b.getUnitAttr());
  return function;
}

Value tpsp::createSlice(OpBuilder &b, Location loc, Value source,
                        ArrayRef<OpFoldResult> offsets,
                        ArrayRef<OpFoldResult> sizes, ArrayRef<int64_t> shape) {
  SmallVector<OpFoldResult> strides(sizes.size(), b.getIndexAttr(1));
  auto type = cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
      shape, cast<MemRefType>(source.getType()), offsets, sizes, strides));
  return memref::SubViewOp::create(b, loc, type, source, offsets, sizes,
                                   strides);
}

Kernel tpsp::emitKernel(const KernelGroup &group, StringRef name,
                        Operation *insertBefore, bool widensSums,
                        llvm::function_ref<Value(Value)> overwritten) {
  OpBuilder b(insertBefore);
  Location loc = group.getOps().front()->getLoc();
  KernelLoops kernel = findLoops(group);
  kernel.widensSums = widensSums;
  // Two arguments must not share memory, so the input is no argument of its
  // own.
  llvm::SmallMapVector<Value, Value, 4> outputOf;
  auto isUpdated = [&](Value output) {
    Value input = overwritten(output);
    return input && llvm::is_contained(kernel.inputs, input);
  };
  auto *updates =
      std::stable_partition(kernel.outputs.begin(), kernel.outputs.end(),
                            [&](Value output) { return !isUpdated(output); });
  SmallVector<Value> updated(updates, kernel.outputs.end());
  for (Value output : updated)
    outputOf[overwritten(output)] = output;
  llvm::erase_if(kernel.inputs,
                 [&](Value input) { return outputOf.contains(input); });
  KernelFunction function = createFunction(b, loc, name, kernel);
  for (auto [input, output] : outputOf)
    // `memory[output]` could be moved by adding the entry.
    function.memory[input] = function.memory.lookup(output);
  MemoryMap rows = allocateRows(b, loc, group, kernel, function);
  WorkItem item;
  scf::ForOp items;
  if (kernel.range) {
    item.first = function.begin;
    item.count = arith::SubIOp::create(b, loc, function.end, function.begin);
  } else {
    Value one = arith::ConstantIndexOp::create(b, loc, 1);
    items = scf::ForOp::create(b, loc, function.begin, function.end, one);
    b.setInsertionPointToStart(items.getBody());
    item = decodeItem(b, loc, kernel.grid, items.getInductionVar());
  }
  ItemEmitter emitter(b, loc, kernel, function, rows, item);
  for (const KernelLoop &loop : kernel.loops)
    emitter.emitLoop(loop);
  b.setInsertionPointToEnd(&function.op.getBody().front());
  func::ReturnOp::create(b, loc);
  SmallVector<Value> made(
      ArrayRef<Value>(kernel.outputs).drop_back(updated.size()));
  return {function.op,        kernel.inputs,    std::move(made),
          group.countItems(), kernel.positions, std::move(updated)};
}
