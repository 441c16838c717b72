// A program's layers as functions, one for each chunk.
#include "StageCut.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/MeshOp.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tpsp;

namespace {

/// Builds the chunks' functions.
class Cutter {
public:
  Cutter(func::FuncOp program, StageAssignment &assignment)
      : program(program), assignment(assignment),
        b(OpBuilder::atBlockEnd(program->getBlock())) {
    b.setInsertionPoint(program);
    findCrossing();
  }

  FailureOr<SmallVector<StageChunk>> cut() {
    SmallVector<StageChunk> result;
    for (int64_t chunk = 0; chunk < assignment.size(); ++chunk) {
      SmallVector<Value> received = crossing(chunk - 1);
      for (Value value : received)
        if (failed(checkPlaced(value, chunk)))
          return failure();
      result.push_back(build(chunk, received));
    }
    program.erase();
    return result;
  }

private:
  /// For each value that a later chunk uses the last that does.
  void findCrossing() {
    for (Operation &op : assignment.body().without_terminator())
      for (Value value : op.getResults()) {
        int64_t last = assignment.chunkOf(&op);
        for (Operation *user : value.getUsers())
          if (!user->hasTrait<OpTrait::IsTerminator>())
            last = std::max(last, assignment.chunkOf(user));
        if (last > assignment.chunkOf(&op))
          lastUse[value] = last;
      }
  }

  /// The values that a chunk sends to the next, in the order of the program.
  SmallVector<Value> crossing(int64_t chunk) const {
    SmallVector<Value> values;
    for (auto [value, last] : lastUse)
      if (assignment.chunkOf(value) <= chunk && last > chunk)
        values.push_back(value);
    return values;
  }

  static LogicalResult checkPlaced(Value value, int64_t chunk) {
    IdxAttr idx = getIdx(value);
    if (idx && !isUnplaced(value.getType()) && idx.getPending().empty())
      return success();
    return emitErrorAt(value)
           << "goes from chunk " << chunk - 1 << " to chunk " << chunk
           << " of the layers, but "
           << (idx && !idx.getPending().empty() ? "is a sum over ranks"
                                                : "is not placed")
           << "; write the subscripts with which it is sent into its type";
  }

  SmallVector<unsigned> argumentsOf(int64_t chunk) {
    llvm::BitVector used(program.getNumArguments());
    auto use = [&](Value value) {
      if (auto argument = dyn_cast<BlockArgument>(value))
        used.set(argument.getArgNumber());
    };
    for (Operation &op : assignment.body().without_terminator())
      if (assignment.chunkOf(&op) == chunk)
        llvm::for_each(op.getOperands(), use);
    if (chunk == 0)
      llvm::for_each(assignment.body().getTerminator()->getOperands(), use);
    SmallVector<unsigned> arguments;
    for (unsigned number : used.set_bits())
      arguments.push_back(number);
    return arguments;
  }

  /// The function, without a body.
  func::FuncOp declare(int64_t chunk, ArrayRef<Value> received,
                       ArrayRef<unsigned> arguments, TypeRange results) {
    SmallVector<Type> inputs(ValueRange(received).getTypes());
    SmallVector<DictionaryAttr> attrs(
        received.size(),
        b.getDictionaryAttr(b.getNamedAttr(receivedAttrName, b.getUnitAttr())));
    for (unsigned number : arguments) {
      inputs.push_back(program.getArgument(number).getType());
      attrs.push_back(program.getArgAttrDict(number));
    }
    auto function = func::FuncOp::create(
        b, program.getLoc(),
        (program.getSymName() + "_chunk" + Twine(chunk)).str(),
        b.getFunctionType(inputs, results));
    for (auto [number, dictionary] : llvm::enumerate(attrs))
      function.setArgAttrs(number, dictionary);
    function->setAttr(stageChunkAttrName, b.getI64IntegerAttr(chunk));
    return function;
  }

  StageChunk build(int64_t chunk, ArrayRef<Value> received) {
    StageChunk result;
    result.layers = assignment.layerCounts()[chunk];
    result.received = received.size();
    result.arguments = argumentsOf(chunk);
    SmallVector<Value> results = crossing(chunk);
    result.sent = results.size();
    SmallVector<unsigned> returned;
    for (OpOperand &use : assignment.body().getTerminator()->getOpOperands())
      if (assignment.chunkOf(use.get()) == chunk) {
        results.push_back(use.get());
        returned.push_back(use.getOperandNumber());
      }
    result.function = declare(chunk, received, result.arguments,
                              ValueRange(results).getTypes());
    for (auto [i, number] : llvm::enumerate(returned))
      if (DictionaryAttr attrs = program.getResultAttrDict(number))
        result.function.setResultAttrs(result.sent + i, attrs);
    fill(result, chunk, received, results);
    return result;
  }

  void fill(const StageChunk &to, int64_t chunk, ArrayRef<Value> received,
            ArrayRef<Value> results) {
    OpBuilder::InsertionGuard guard(b);
    func::FuncOp function = to.function;
    Block *body = function.addEntryBlock();
    b.setInsertionPointToStart(body);
    IRMapping mapping;
    for (auto [i, value] : llvm::enumerate(received)) {
      mapping.map(value, body->getArgument(i));
      body->getArgument(i).setLoc(value.getLoc());
    }
    for (auto [i, number] : llvm::enumerate(to.arguments)) {
      BlockArgument own = body->getArgument(received.size() + i);
      mapping.map(Value(program.getArgument(number)), Value(own));
      own.setLoc(program.getArgument(number).getLoc());
    }
    for (Operation &op : assignment.body().without_terminator())
      if (assignment.chunkOf(&op) == chunk)
        b.clone(op, mapping);
    SmallVector<Value> values;
    for (Value value : results)
      values.push_back(mapping.lookup(value));
    func::ReturnOp::create(b, program.getLoc(), values);
  }

  func::FuncOp program;
  StageAssignment &assignment;
  OpBuilder b;
  llvm::MapVector<Value, int64_t> lastUse;
};

} // namespace

FailureOr<SmallVector<StageChunk>> tpsp::cutStages(func::FuncOp program,
                                                   const StageCut &cut) {
  StageAssignment assignment(program, cut);
  if (failed(assignment.assign()))
    return failure();
  return Cutter(program, assignment).cut();
}
