// The function of a kernel, as linalg on rows of memrefs.
#include "Kernels.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Operations with the same row indices that run as one loop nest.
struct Loop {
  unsigned stage;
  /// Row indices, outermost first.
  SmallVector<LoopIndex> indices;
  SmallVector<LoopOpInterface> ops;
};

class KernelEmitter {
public:
  KernelEmitter(const KernelGroup &group, StringRef name, Operation *before)
      : group(group), b(before), loc(group.getOps().front()->getLoc()),
        name(name) {}

  Kernel emit() {
    findOperands();
    chooseGrid();
    formLoops();
    findPositions();
    createFunction();
    if (inRanges) {
      emitItem(begin, end);
    } else {
      auto loop = scf::ForOp::create(b, loc, begin, end, constant(1));
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(loop.getBody());
      emitItem(loop.getInductionVar(), {});
    }
    func::ReturnOp::create(b, loc);
    return std::move(kernel);
  }

private:
  //===--------------------------------------------------------------------===//
  // Analysis
  //===--------------------------------------------------------------------===//

  void findOperands() {
    llvm::SetVector<Value> inputs;
    for (Operation *op : group.getOps()) {
      for (Value operand : op->getOperands())
        if (!group.produces(operand))
          inputs.insert(operand);
      Value result = op->getResult(0);
      bool escapes = llvm::any_of(result.getUsers(), [&](Operation *user) {
        return !llvm::is_contained(group.getOps(), user);
      });
      if (escapes)
        kernel.outputs.push_back(result);
    }
    kernel.inputs = inputs.takeVector();
  }

  void chooseGrid() {
    grid = group.getGrid();
    bool onlyInnermost = grid.empty() && !group.getCommon().empty();
    if (group.isColumnSum()) {
      inRanges = true;
      rangeIndex = group.getCommon().front();
      kernel.grid = rangeIndex.extent;
      return;
    }
    if (onlyInnermost)
      grid.assign(group.getCommon().begin(), group.getCommon().end());
    for (const LoopIndex &index : grid)
      kernel.grid *= index.extent;
  }

  bool inGrid(const LoopIndex &index) const {
    return llvm::is_contained(grid, index);
  }

  SmallVector<LoopIndex> rowOf(Type type) const {
    SmallVector<LoopIndex> row;
    for (const LoopIndex &index : loopIndices(type))
      if (!inGrid(index))
        row.push_back(index);
    return row;
  }

  /// The row indices of an operation, in the order of its widest tensor.
  SmallVector<LoopIndex> rowOf(LoopOpInterface op) const {
    SmallVector<Type> types(op->getOperandTypes());
    types.push_back(op->getResult(0).getType());
    llvm::stable_sort(types, [](Type x, Type y) {
      return getIdx(x).getRank() > getIdx(y).getRank();
    });
    SmallVector<LoopIndex> row = rowOf(types.front());
    for (Type type : ArrayRef<Type>(types).drop_front()) {
      SmallVector<LoopIndex> others = rowOf(type);
      for (const LoopIndex &index : llvm::reverse(others))
        if (!llvm::is_contained(row, index))
          row.insert(row.begin(), index);
    }
    return row;
  }

  static bool sameSet(ArrayRef<LoopIndex> x, ArrayRef<LoopIndex> y) {
    return x.size() == y.size() && llvm::all_of(x, [&](const LoopIndex &index) {
             return llvm::is_contained(y, index);
           });
  }

  bool reduces(LoopOpInterface op) const {
    return rowOf(op).size() > rowOf(op->getResult(0).getType()).size();
  }

  void formLoops() {
    llvm::DenseMap<Operation *, unsigned> loopOf;
    for (Operation *each : group.getOps()) {
      auto op = cast<LoopOpInterface>(each);
      SmallVector<LoopIndex> row = rowOf(op);
      unsigned stage = 0;
      for (Value operand : op->getOperands()) {
        auto producer = loopOf.find(operand.getDefiningOp());
        if (producer == loopOf.end())
          continue;
        const Loop &loop = loops[producer->second];
        bool shares = sameSet(loop.indices, row) &&
                      !reduces(cast<LoopOpInterface>(operand.getDefiningOp()));
        stage = std::max(stage, loop.stage + (shares ? 0 : 1));
      }
      auto *found = llvm::find_if(loops, [&](const Loop &loop) {
        return loop.stage == stage && sameSet(loop.indices, row);
      });
      if (found == loops.end()) {
        loops.push_back({stage, row, {}});
        found = std::prev(loops.end());
      }
      found->ops.push_back(op);
      loopOf[each] = std::distance(loops.begin(), found);
    }
    // Values that must be stored: outputs, sums, and what another loop reads.
    for (Operation *op : group.getOps())
      for (Operation *user : op->getUsers())
        if (loopOf.contains(user) && loopOf[user] != loopOf[op])
          crossing.insert(op->getResult(0));
    llvm::stable_sort(
        loops, [](const Loop &x, const Loop &y) { return x.stage < y.stage; });
  }

  void findPositions() {
    for (Operation *each : group.getOps()) {
      auto op = cast<LoopOpInterface>(each);
      auto indices = loopIndices(op->getResult(0).getType());
      for (Type type : op->getOperandTypes())
        llvm::append_range(indices, loopIndices(type));
      for (StringRef name : op.getPositionIndices()) {
        const auto *index = llvm::find_if(indices, [&](const LoopIndex &i) {
          return i.name.getValue() == name;
        });
        if (index == indices.end())
          continue;
        LoopIndex asked = *index;
        asked.tile = op.getTileOf(name);
        if ((asked.tile || !asked.axes.empty()) &&
            !llvm::is_contained(kernel.positions, asked))
          kernel.positions.push_back(asked);
      }
    }
  }

  //===--------------------------------------------------------------------===//
  // Emission
  //===--------------------------------------------------------------------===//

  Value constant(int64_t value) {
    return arith::ConstantIndexOp::create(b, loc, value);
  }

  static MemRefType memrefOf(Type type) {
    auto tensor = cast<RankedTensorType>(type);
    return MemRefType::get(tensor.getShape(), tensor.getElementType());
  }

  /// Arithmetic is in f32, whatever the storage; integers are as they are.
  static Type computeType(Type element) {
    return element.isF64() || element.isInteger()
               ? element
               : Float32Type::get(element.getContext());
  }

  void createFunction() {
    SmallVector<Type> types;
    for (Value value : kernel.inputs)
      types.push_back(memrefOf(value.getType()));
    for (Value value : kernel.outputs)
      types.push_back(memrefOf(value.getType()));
    unsigned buffers = types.size();
    types.append(kernel.positions.size() + 2, b.getIndexType());
    kernel.function =
        func::FuncOp::create(b, loc, name, b.getFunctionType(types, {}));
    kernel.function.setPrivate();
    // Without this no loop would be vectorised.
    for (unsigned i = 0; i < buffers; ++i)
      kernel.function.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                                 b.getUnitAttr());
    Block *body = kernel.function.addEntryBlock();
    b.setInsertionPointToStart(body);
    unsigned next = 0;
    for (Value value : kernel.inputs)
      memory[value] = body->getArgument(next++);
    for (Value value : kernel.outputs)
      memory[value] = body->getArgument(next++);
    for (const LoopIndex &index : kernel.positions)
      start[index.name] = body->getArgument(next++);
    begin = body->getArgument(next++);
    end = body->getArgument(next++);
    allocateRows();
  }

  /// Room on the stack for values that are kept within a work item, and for
  /// sums that are narrower in memory than in arithmetic.
  void allocateRows() {
    for (Operation *each : group.getOps()) {
      auto op = cast<LoopOpInterface>(each);
      Value result = op->getResult(0);
      bool isOutput = llvm::is_contained(kernel.outputs, result);
      Type element = cast<RankedTensorType>(result.getType()).getElementType();
      bool widened = reduces(op) && computeType(element) != element;
      bool stored = crossing.contains(result) || reduces(op);
      if (!stored || (isOutput && !widened))
        continue;
      SmallVector<int64_t> shape;
      SmallVector<Value> sizes;
      for (const LoopIndex &index : rowOf(result.getType())) {
        bool ranged = inRanges && index == rangeIndex;
        shape.push_back(ranged ? ShapedType::kDynamic : index.extent);
        if (ranged)
          sizes.push_back(arith::SubIOp::create(b, loc, end, begin));
      }
      auto type = MemRefType::get(shape, computeType(element));
      kept[result] = memref::AllocaOp::create(b, loc, type, sizes);
    }
  }

  /// One work item, or the range [item, last) of them.
  void emitItem(Value item, Value last) {
    decodeItem(item, last);
    rows.clear();
    for (const Loop &loop : loops)
      emitLoop(loop);
  }

  void decodeItem(Value item, Value last) {
    itemStart = item;
    itemCount = last ? arith::SubIOp::create(b, loc, last, item) : Value();
    coordinate.clear();
    Value rest = item;
    for (auto [i, index] : llvm::enumerate(llvm::reverse(grid))) {
      bool outermost = i + 1 == grid.size();
      Value extent = constant(index.extent);
      coordinate[index.name] =
          outermost ? rest
                    : Value(arith::RemUIOp::create(b, loc, rest, extent));
      if (!outermost)
        rest = arith::DivUIOp::create(b, loc, rest, extent);
    }
  }

  /// The part of a tensor in memory that belongs to the work item.
  Value sliceOf(Value value) {
    if (Value &known = rows[value])
      return known;
    Value source = memory[value];
    auto type = cast<MemRefType>(source.getType());
    SmallVector<OpFoldResult> offsets, sizes;
    SmallVector<OpFoldResult> strides(type.getRank(), b.getIndexAttr(1));
    SmallVector<int64_t> shape;
    for (const LoopIndex &index : loopIndices(value.getType())) {
      bool ranged = inRanges && index == rangeIndex;
      if (inGrid(index)) {
        offsets.push_back(coordinate[index.name]);
        sizes.push_back(b.getIndexAttr(1));
        continue;
      }
      offsets.push_back(ranged ? OpFoldResult(itemStart)
                               : OpFoldResult(b.getIndexAttr(0)));
      sizes.push_back(ranged ? OpFoldResult(itemCount)
                             : OpFoldResult(b.getIndexAttr(index.extent)));
      shape.push_back(ranged ? ShapedType::kDynamic : index.extent);
    }
    auto sliceType =
        cast<MemRefType>(memref::SubViewOp::inferRankReducedResultType(
            shape, type, offsets, sizes, strides));
    return rows[value] = memref::SubViewOp::create(b, loc, sliceType, source,
                                                   offsets, sizes, strides);
  }

  /// Where a later loop finds a value: what was kept of it, else memory.
  Value readFrom(Value value) {
    auto it = kept.find(value);
    return it != kept.end() ? it->second : sliceOf(value);
  }

  AffineMap mapOf(Type type, const Loop &loop) const {
    SmallVector<AffineExpr> dims;
    for (const LoopIndex &index : rowOf(type)) {
      auto at = llvm::find(loop.indices, index) - loop.indices.begin();
      dims.push_back(getAffineDimExpr(at, b.getContext()));
    }
    return AffineMap::get(loop.indices.size(), 0, dims, b.getContext());
  }

  /// Values that a loop stores.
  SmallVector<LoopOpInterface> storedBy(const Loop &loop) const {
    SmallVector<LoopOpInterface> stored;
    for (LoopOpInterface op : loop.ops)
      if (crossing.contains(op->getResult(0)) ||
          llvm::is_contained(kernel.outputs, op->getResult(0)))
        stored.push_back(op);
    return stored;
  }

  SmallVector<Value> readBy(const Loop &loop) const {
    llvm::SetVector<Value> read;
    for (LoopOpInterface op : loop.ops)
      for (Value operand : op->getOperands())
        if (!llvm::is_contained(loop.ops, operand.getDefiningOp()))
          read.insert(operand);
    return read.takeVector();
  }

  void emitLoop(const Loop &loop) {
    SmallVector<LoopOpInterface> stored = storedBy(loop);
    SmallVector<Value> read = readBy(loop);
    SmallVector<Value> inputs, outputs;
    SmallVector<AffineMap> maps;
    for (Value value : read) {
      inputs.push_back(readFrom(value));
      maps.push_back(mapOf(value.getType(), loop));
    }
    if (SmallVector<unsigned> hidden = hiddenIndices(loop, read, stored);
        !hidden.empty()) {
      inputs.push_back(spaceOf(loop, hidden));
      maps.push_back(AffineMap::getMultiDimMapWithTargets(
          loop.indices.size(), hidden, b.getContext()));
    }
    for (LoopOpInterface op : stored) {
      Value target = readFrom(op->getResult(0));
      if (reduces(op))
        fillNeutral(op, target);
      outputs.push_back(target);
      maps.push_back(mapOf(op->getResult(0).getType(), loop));
    }
    auto body = [&](OpBuilder &inner, Location, ValueRange arguments) {
      emitBody(inner, loop, read, stored, arguments.take_front(read.size()),
               arguments.drop_front(inputs.size()));
    };
    linalg::GenericOp::create(b, loc, inputs, outputs, maps,
                              iterators(loop, stored), body);
    for (LoopOpInterface op : stored)
      narrow(op);
  }

  /// Indices that a loop broadcasts to and sums over again, so that nothing
  /// that it reads or stores has them.
  SmallVector<unsigned> hiddenIndices(const Loop &loop, ArrayRef<Value> read,
                                      ArrayRef<LoopOpInterface> stored) const {
    SmallVector<Value> tensors(read);
    for (LoopOpInterface op : stored)
      tensors.push_back(op->getResult(0));
    SmallVector<unsigned> hidden;
    for (auto [at, index] : llvm::enumerate(loop.indices))
      if (llvm::none_of(tensors, [&, index = index](Value tensor) {
            return llvm::is_contained(rowOf(tensor.getType()), index);
          }))
        hidden.push_back(at);
    return hidden;
  }

  /// An operand that has these indices, only to say how far they go: one
  /// element of some buffer over and over, which the loop does not use.
  Value spaceOf(const Loop &loop, ArrayRef<unsigned> hidden) {
    Value source =
        kernel.inputs.empty() ? kernel.outputs.front() : kernel.inputs.front();
    SmallVector<int64_t> sizes, strides(hidden.size(), 0);
    for (unsigned at : hidden)
      sizes.push_back(loop.indices[at].extent);
    Value buffer = memory[source];
    auto type = MemRefType::get(
        sizes, cast<MemRefType>(buffer.getType()).getElementType(),
        StridedLayoutAttr::get(b.getContext(), /*offset=*/0, strides));
    return memref::ReinterpretCastOp::create(b, loc, type, buffer,
                                             /*offset=*/0, sizes, strides);
  }

  SmallVector<utils::IteratorType>
  iterators(const Loop &loop, ArrayRef<LoopOpInterface> stored) const {
    SmallVector<utils::IteratorType> types;
    for (const LoopIndex &index : loop.indices) {
      bool parallel = llvm::all_of(stored, [&](LoopOpInterface op) {
        return llvm::is_contained(rowOf(op->getResult(0).getType()), index);
      });
      types.push_back(parallel ? utils::IteratorType::parallel
                               : utils::IteratorType::reduction);
    }
    return types;
  }

  static bool isMaximum(LoopOpInterface op) {
    return cast<IndexedOpInterface>(*op).getReduction() == Reduction::Max;
  }

  void fillNeutral(LoopOpInterface op, Value target) {
    auto element =
        cast<FloatType>(cast<MemRefType>(target.getType()).getElementType());
    const llvm::fltSemantics &semantics = element.getFloatSemantics();
    APFloat neutral = isMaximum(op) ? APFloat::getInf(semantics, true)
                                    : APFloat::getZero(semantics);
    Value constant =
        arith::ConstantOp::create(b, loc, FloatAttr::get(element, neutral));
    linalg::FillOp::create(b, loc, constant, target);
  }

  /// A value between memory and arithmetic.
  static Value converted(OpBuilder &inner, Location loc, Value value, Type to) {
    if (value.getType() == to)
      return value;
    auto from = cast<FloatType>(value.getType());
    auto target = cast<FloatType>(to);
    if (from.getWidth() < target.getWidth())
      return arith::ExtFOp::create(inner, loc, target, value);
    return arith::TruncFOp::create(inner, loc, target, value);
  }

  void emitBody(OpBuilder &inner, const Loop &loop, ArrayRef<Value> read,
                ArrayRef<LoopOpInterface> stored, ValueRange elements,
                ValueRange sums) {
    llvm::DenseMap<Value, Value> scalar;
    for (auto [value, argument] : llvm::zip_equal(read, elements))
      scalar[value] =
          converted(inner, loc, argument, computeType(argument.getType()));
    auto position = [&](StringRef name) -> Value {
      return positionOf(inner, loop, name);
    };
    for (LoopOpInterface op : loop.ops) {
      SmallVector<Value> operands;
      for (Value operand : op->getOperands())
        operands.push_back(scalar[operand]);
      Value result = op->getResult(0);
      // Storage of 64 bits is computed in them, and what is converted from or
      // to it meets what is not.
      scalar[result] =
          converted(inner, loc, op.emitScalar(inner, operands, position),
                    computeType(getElementTypeOrSelf(result)));
    }
    SmallVector<Value> yielded;
    for (auto [op, argument] : llvm::zip_equal(stored, sums)) {
      Value value = scalar[op->getResult(0)];
      if (reduces(op))
        value = combined(inner, op, argument, value);
      yielded.push_back(converted(inner, loc, value, argument.getType()));
    }
    linalg::YieldOp::create(inner, loc, yielded);
  }

  Value combined(OpBuilder &inner, LoopOpInterface op, Value sum, Value value) {
    if (isMaximum(op))
      return arith::MaximumFOp::create(inner, loc, sum, value);
    return arith::AddFOp::create(inner, loc, sum, value);
  }

  Value positionOf(OpBuilder &inner, const Loop &loop, StringRef name) {
    auto key = StringAttr::get(inner.getContext(), name);
    Value here = coordinate.lookup(key);
    if (!here) {
      const auto *index = llvm::find_if(
          loop.indices, [&](const LoopIndex &i) { return i.name == key; });
      here = linalg::IndexOp::create(inner, loc, index - loop.indices.begin());
      if (inRanges && *index == rangeIndex)
        here = arith::AddIOp::create(inner, loc, here, itemStart);
    }
    if (Value first = start.lookup(key))
      here = arith::AddIOp::create(inner, loc, here, first);
    return here;
  }

  /// Writes a wide sum to an output of a narrower type.
  void narrow(LoopOpInterface op) {
    Value result = op->getResult(0);
    auto wide = kept.find(result);
    if (wide == kept.end() || !llvm::is_contained(kernel.outputs, result))
      return;
    unsigned rank = rowOf(result.getType()).size();
    SmallVector<AffineMap> maps(2, b.getMultiDimIdentityMap(rank));
    SmallVector<utils::IteratorType> types(rank, utils::IteratorType::parallel);
    linalg::GenericOp::create(
        b, loc, ValueRange{wide->second}, ValueRange{sliceOf(result)}, maps,
        types, [&](OpBuilder &inner, Location, ValueRange arguments) {
          linalg::YieldOp::create(
              inner, loc,
              converted(inner, loc, arguments[0], arguments[1].getType()));
        });
  }

  const KernelGroup &group;
  OpBuilder b;
  Location loc;
  StringRef name;
  Kernel kernel;

  SmallVector<LoopIndex> grid;
  bool inRanges = false;
  LoopIndex rangeIndex;
  SmallVector<Loop> loops;
  llvm::DenseSet<Value> crossing;

  Value begin, end, itemStart, itemCount;
  llvm::DenseMap<Value, Value> memory; // whole tensors
  llvm::DenseMap<Value, Value> rows;   // the work item's part of them
  llvm::DenseMap<Value, Value> kept;   // rows on the stack
  llvm::DenseMap<StringAttr, Value> coordinate, start;
};

} // namespace

Kernel tpsp::emitKernel(const KernelGroup &group, StringRef name,
                        Operation *insertBefore) {
  return KernelEmitter(group, name, insertBefore).emit();
}
