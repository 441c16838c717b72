// tpsp-partition: turns global shapes into one rank's.
#include "Passes/Collectives/CollectiveBuilder.h"
#include "Passes/Collectives/Ledger.h"
#include "Passes/Program/FunctionResults.h"
#include "Passes/Program/FunctionWalk.h"
#include "Passes/Program/Placed.h"
#include "tpsp/Dialect/Tpsp/IR/ArgumentAttrs.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/Operations/BlockOps.h"
#include "tpsp/Dialect/Tpsp/Operations/ViewOps.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

namespace tpsp {
#define GEN_PASS_DEF_PARTITION
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

namespace {

class Partitioner {
public:
  Partitioner(func::FuncOp function)
      : function(function), mesh(meshOf(function)) {}

  LogicalResult run(bool keepTrivial) {
    if (failed(checkPlaced()))
      return failure();
    if (!keepTrivial)
      dropTrivialCollectives();
    noteCuts();
    SmallVector<RowMove> moves = rowMoves();
    function.walk([&](Operation *op) {
      for (Value result : op->getResults())
        result.setType(local(result.getType()));
    });
    for (BlockArgument argument : function.getArguments())
      argument.setType(local(argument.getType()));
    for (const RowMove &move : moves)
      if (failed(shape(move)))
        return failure();
    updateType(function);
    return success();
  }

private:
  //===--------------------------------------------------------------------===//
  // Tensors that are cut as rows of elements
  //===--------------------------------------------------------------------===//

  bool isCut(Type type) const {
    auto tensor = dyn_cast<RankedTensorType>(type);
    IdxAttr idx = tensor ? getIdx(type) : IdxAttr();
    return idx && !idx.getLocal() &&
           flatCut(tensor.getShape(), placementOf(type, mesh), mesh);
  }

  /// Notes the global types of arguments and results that are cut: local types
  /// do not tell them.
  void noteCuts() {
    ArgumentAttrs attributes(function);
    for (BlockArgument argument : function.getArguments())
      if (isCut(argument.getType()))
        attributes.set(argument.getArgNumber(), cutRowAttrName,
                       TypeAttr::get(argument.getType()));
    attributes.write();
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
      if (isCut(value.getType()))
        function.setResultAttr(i, cutRowAttrName,
                               TypeAttr::get(value.getType()));
  }

  /// A tensor that a collective makes a row, or makes of a row.
  struct RowMove {
    CollectiveOpInterface op;
    unsigned number;
    bool fromRow, toRow;
    /// Whether its axes are the last of those that cut the row.
    bool movesCut;
  };

  /// Whether `less` is `more` without the last `count` axes of its cut.
  bool movesCut(Type more, Type less, size_t count) const {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(more).getShape();
    Placement fine = placementOf(more, mesh);
    std::optional<FlatCut> cut = flatCut(shape, fine, mesh);
    if (!cut || count > cut->axes.size())
      return false;
    fine.dims[cut->dim].pop_back_n(count);
    return fine.dims == placementOf(less, mesh).dims;
  }

  SmallVector<RowMove> rowMoves() {
    SmallVector<RowMove> moves;
    function.walk([&](CollectiveOpInterface op) {
      for (auto [i, operand, result] :
           llvm::enumerate(op->getOperandTypes(), op->getResultTypes())) {
        bool gathers = op.getCollectiveKind() == CollectiveKind::AllGather;
        RowMove move = {op, unsigned(i), isCut(operand), isCut(result),
                        movesCut(gathers ? operand : result,
                                 gathers ? result : operand,
                                 op.getAxes().size())};
        if (!move.fromRow && !move.toRow)
          continue;
        moves.push_back(move);
        // Local types have the axes of a row on the last index.
        op->setAttr(movedIndexAttrName,
                    StringAttr::get(op.getContext(), ledgerOf(op, mesh).index));
      }
    });
    return moves;
  }

  int64_t groupOf(CollectiveOpInterface op) const {
    AxisList axes;
    for (auto name : op.getAxes().getAsRange<StringAttr>())
      axes.push_back(*mesh.find(name.getValue()));
    return mesh.groupSize(axes);
  }

  /// Gives the collective rows on both sides: what is gathered begins with the
  /// tensor, and what is divided has zeros after it.
  LogicalResult shape(const RowMove &move) {
    CollectiveOpInterface op = move.op;
    Value operand = op->getOperand(move.number);
    OpResult result = op->getResult(move.number);
    int64_t ranks = groupOf(op), before = typeOf(operand).getNumElements(),
            after = typeOf(result).getNumElements();
    if (op.getCollectiveKind() == CollectiveKind::AllReduce)
      return success();
    if (!move.movesCut)
      return refuse(op, operand);
    switch (op.getCollectiveKind()) {
    case CollectiveKind::AllGather:
      if (move.fromRow && !move.toRow)
        return takeFrom(result, before * ranks), success();
      if (move.toRow && before * ranks == after)
        return success();
      break;
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Slice:
      if (move.toRow && !move.fromRow)
        return fill(op->getOpOperand(move.number), after * ranks), success();
      if (move.fromRow && after * ranks == before)
        return success();
      break;
    default:
      break;
    }
    return refuse(op, operand);
  }

  LogicalResult refuse(CollectiveOpInterface op, Value operand) {
    return emitErrorAt(op) << name(op.getCollectiveKind()) << " of '"
                           << tensorName(operand) << "' over " << op.getAxes()
                           << " would move a part of a row of elements, "
                              "because its axes do not divide it; give it one "
                              "of the axes, or an extent that they divide";
  }

  /// The type of a row of `elements` with the names and axes of `like`.
  static RankedTensorType rowOf(RankedTensorType like, int64_t elements) {
    SmallVector<int64_t> shape(like.getRank(), 1);
    shape.back() = elements;
    return RankedTensorType::get(shape, like.getElementType(),
                                 like.getEncoding());
  }

  void takeFrom(OpResult result, int64_t elements) {
    RankedTensorType type = typeOf(result);
    result.setType(rowOf(type, elements));
    OpBuilder b(result.getContext());
    b.setInsertionPointAfter(result.getOwner());
    auto whole = PrefixOp::create(b, result.getLoc(), type, ValueRange{result});
    copyPhase(result.getOwner(), whole);
    result.replaceAllUsesExcept(whole.getResult(), whole);
  }

  /// Replaces the operand by a row of `elements` that begins with it.
  void fill(OpOperand &operand, int64_t elements) {
    Operation *op = operand.getOwner();
    OpBuilder b(op);
    Value value = operand.get();
    RankedTensorType type = typeOf(value);
    if (type.getNumElements() < elements) {
      value = PadOp::create(b, op->getLoc(), lengthened(type, elements),
                            ValueRange{value}, "", 0, APFloat(0.0));
      auto pad = value.getDefiningOp<PadOp>();
      pad.setIndex(indexNames(typeOf(value)).front());
      copyPhase(op, pad);
    }
    auto row = PrefixOp::create(b, op->getLoc(), rowOf(type, elements),
                                ValueRange{value});
    copyPhase(op, row);
    operand.set(row.getResult());
  }

  /// The type with the fewest positions of its first index that has as many
  /// elements, under another name.
  RankedTensorType lengthened(RankedTensorType type, int64_t elements) {
    SmallVector<int64_t> shape(type.getShape());
    int64_t inner = type.getNumElements() / shape.front();
    shape.front() = (elements + inner - 1) / inner;
    IdxAttr idx = getIdx(type);
    SmallVector<StringAttr> names(idx.getNames());
    std::string name = (names.front().getValue() + "_padded").str();
    while (idx.dimOf(name))
      name += "_";
    names.front() = StringAttr::get(type.getContext(), name);
    return RankedTensorType::get(
        shape, type.getElementType(),
        IdxAttr::get(type.getContext(), names, idx.getAxes(), idx.getPending(),
                     idx.getPendingMax(), /*unplaced=*/false, /*local=*/true));
  }

  //===--------------------------------------------------------------------===//
  // All tensors
  //===--------------------------------------------------------------------===//

  /// Verifies that every operation is in a placement that needs no
  /// communication.
  LogicalResult checkPlaced() {
    std::set<Signature> known; // layers and micro-batches repeat them
    WalkResult result = function.walk([&](IndexedOpInterface op) {
      if (!known.insert(signatureOf(op)).second)
        return WalkResult::advance();
      PlacedStructure placed(op, mesh);
      auto choice = chooseComputePlacement(placed.get());
      bool agrees = choice && llvm::equal(choice->operands, placed.operands);
      for (auto [i, wanted] : llvm::enumerate(placed.wanted))
        agrees = agrees && wanted && *wanted == choice->results[i];
      if (agrees)
        return WalkResult::advance();
      op->emitOpError("does not agree with any compute placement without "
                      "communication; run tpsp-insert-collectives first");
      return WalkResult::interrupt();
    });
    return failure(result.wasInterrupted());
  }

  /// A collective over a single rank only changes subscripts.
  void dropTrivialCollectives() {
    SmallVector<CollectiveOpInterface> trivial;
    function.walk([&](CollectiveOpInterface op) {
      AxisList axes;
      for (auto name : op.getAxes().getAsRange<StringAttr>())
        axes.push_back(*mesh.find(name.getValue()));
      if (mesh.groupSize(axes) == 1)
        trivial.push_back(op);
    });
    for (CollectiveOpInterface op : trivial) {
      OpBuilder builder(op);
      for (auto [operand, result] :
           llvm::zip_equal(op->getOperands(), op->getResults())) {
        auto rename =
            RenameOp::create(builder, op->getLoc(), result.getType(), operand);
        copyOrigin(op, rename);
        result.replaceAllUsesWith(rename.getResult());
      }
      op->erase();
    }
  }

  Type local(Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    IdxAttr idx = getIdx(type);
    if (!idx || idx.getLocal())
      return type;
    Placement placement = placementOf(type, mesh);
    IdxAttr placed = getIdx(withPlacement(
        tensor, withCutLast(tensor.getShape(), placement, mesh), mesh));
    auto localIdx =
        IdxAttr::get(type.getContext(), idx.getNames(), placed.getAxes(),
                     idx.getPending(), idx.getPendingMax(), /*unplaced=*/false,
                     /*local=*/true);
    return RankedTensorType::get(localShape(tensor.getShape(), placement, mesh),
                                 tensor.getElementType(), localIdx);
  }

  func::FuncOp function;
  Mesh mesh;
};

struct Partition : public WithOptions<tpsp::impl::PartitionBase<Partition>,
                                      &CompileOptions::keepTrivial> {
  void runOnOperation() override {
    if (failed(forEachFunction(getOperation(), [&](auto function) {
          return Partitioner(cast<func::FuncOp>(*function))
              .run(options().keepTrivial);
        })))
      signalPassFailure();
  }
};

} // namespace
