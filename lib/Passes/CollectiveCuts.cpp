#include "tpsp/Passes/CollectiveCuts.h"

#include "tpsp/Algebra/MatmulCut.h"
#include "tpsp/Passes/StepOfProgram.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace mlir;
using namespace tpsp;

namespace {

//===----------------------------------------------------------------------===//
// Products as commands
//===----------------------------------------------------------------------===//

SmallVector<MatmulForm::Loop> loopsOf(ArrayRef<int64_t> numbers) {
  SmallVector<MatmulForm::Loop> loops;
  for (size_t i = 0; i + 3 < numbers.size(); i += 4)
    loops.push_back(
        {numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3]});
  return loops;
}

MatmulForm formOf(plan::MatmulOp op) {
  MatmulForm form;
  form.m = op.getSizes()[0];
  form.n = op.getSizes()[1];
  form.k = op.getSizes()[2];
  form.lda = op.getLeading()[0];
  form.ldb = op.getLeading()[1];
  form.ldc = op.getLeading()[2];
  form.transposeA = op.getTransposeA();
  form.transposeB = op.getTransposeB();
  llvm::append_range(form.batch, loopsOf(op.getBatch()));
  llvm::append_range(form.accumulate, loopsOf(op.getAccumulate()));
  return form;
}

MatmulWork workOf(const MatmulForm &form) {
  MatmulWork work{form.m, form.n,          form.k,         1,
                  1,      form.transposeA, form.transposeB};
  for (const MatmulForm::Loop &loop : form.batch)
    work.batch *= loop.extent;
  for (const MatmulForm::Loop &loop : form.accumulate)
    work.steps *= loop.extent;
  return work;
}

/// A copy of `op` with other operands and another form.
void createMatmul(OpBuilder &b, plan::MatmulOp op, ArrayRef<Value> tensors,
                  const MatmulForm &form) {
  auto flat = [](ArrayRef<MatmulForm::Loop> loops) {
    SmallVector<int64_t> numbers;
    for (const MatmulForm::Loop &loop : loops)
      numbers.append({loop.extent, loop.strideA, loop.strideB, loop.strideC});
    return numbers;
  };
  plan::MatmulOp::create(b, op.getLoc(), tensors[0], tensors[1], tensors[2],
                         b.getDenseI64ArrayAttr({form.m, form.n, form.k}),
                         b.getDenseI64ArrayAttr({form.lda, form.ldb, form.ldc}),
                         form.transposeA ? b.getUnitAttr() : UnitAttr(),
                         form.transposeB ? b.getUnitAttr() : UnitAttr(),
                         b.getDenseI64ArrayAttr(flat(form.batch)),
                         b.getDenseI64ArrayAttr(flat(form.accumulate)),
                         b.getI64IntegerAttr(0));
}

//===----------------------------------------------------------------------===//
// Buffers and their tiles
//===----------------------------------------------------------------------===//

int64_t elementsOf(Value value) {
  return cast<MemRefType>(value.getType()).getNumElements();
}

int64_t elementBytesOf(Value value) {
  return cast<MemRefType>(value.getType()).getElementTypeBitWidth() / 8;
}

MemRefType flatType(Value like, int64_t elements) {
  return MemRefType::get({elements},
                         cast<MemRefType>(like.getType()).getElementType());
}

Value createTile(OpBuilder &b, Location loc, Value buffer, Tiling tiling,
                 int64_t number, ArrayRef<int64_t> axes) {
  return plan::TileOp::create(
      b, loc, flatType(buffer, elementsOf(buffer) / tiling.tiles), buffer,
      b.getI64IntegerAttr(tiling.tiles), b.getI64IntegerAttr(tiling.chunk),
      b.getI64IntegerAttr(number), b.getDenseI64ArrayAttr(axes));
}

/// Who touches a buffer, through views.
struct BufferUsers {
  SmallVector<OpOperand *> uses;
  bool hasTiles = false;

  explicit BufferUsers(plan::BufferOp buffer) { collect(buffer.getResult()); }

private:
  void collect(Value value) {
    for (OpOperand &use : value.getUses()) {
      if (auto view = dyn_cast<plan::ViewOp>(use.getOwner()))
        collect(view.getResult());
      else if (isa<plan::TileOp>(use.getOwner()))
        hasTiles = true;
      else
        uses.push_back(&use);
    }
  }
};

/// The ledger's row of one of `pieces` parts of a collective of this kind.
DictionaryAttr ledgerOfPiece(OpBuilder &b, Operation *collective,
                             int64_t pieces, int64_t whole) {
  auto ledger = collective->getAttrOfType<DictionaryAttr>("ledger");
  if (!ledger)
    return {};
  NamedAttrList row(ledger);
  row.set("bytes", b.getI64IntegerAttr(
                       ledger.getAs<IntegerAttr>("bytes").getInt() / pieces));
  row.set("kind", b.getStringAttr(collective->getName().stripDialect()));
  row.set("whole", b.getI64IntegerAttr(whole));
  return row.getDictionary(b.getContext());
}

SmallVector<AxisId> axesOf(Operation *collective) {
  SmallVector<AxisId> axes;
  for (int64_t axis :
       collective->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef())
    axes.push_back(axis);
  return axes;
}

//===----------------------------------------------------------------------===//
// all_gather -> matmul
//===----------------------------------------------------------------------===//

/// A product that reads the gathered tensor, cut along the gathered index.
struct CutConsumer {
  plan::MatmulOp matmul;
  MatmulTensor operand;
  MatmulCut cut;
};

class GatherCutter {
public:
  GatherCutter(plan::AllGatherOp gather, int64_t group)
      : gather(gather), buffer(plan::bufferOf(gather.getTarget())),
        group(group), tiling{group, int64_t(gather.getChunk())} {
    findConsumers();
  }

  bool isPossible() const { return !consumers.empty(); }

  CollectiveCut choose(const CostModel &cost) {
    double products = 0, tile = 0;
    for (CutConsumer &consumer : consumers) {
      int64_t width = elementBytesOf(buffer);
      products += cost.matmulSeconds(workOf(formOf(consumer.matmul)), width);
      tile += cost.matmulSeconds(workOf(consumer.cut.form), width);
    }
    int64_t bytes = plan::bytesOf(buffer.getType());
    SmallVector<AxisId> axes = axesOf(gather);
    double whole =
        cost.collectiveSeconds(CollectiveKind::AllGather, bytes, axes);
    double hop = cost.collectiveSeconds(CollectiveKind::Permute,
                                        double(bytes) / group, axes);
    CollectiveCut cut{CollectiveCut::OwnFirst, group, whole + products,
                      std::max(tile, whole) + (group - 1) * tile};
    double ring = tile + ownCopySeconds(cost);
    for (int64_t step = 1; step < group; ++step)
      ring = std::max(ring, step * hop) + tile;
    if (ring < cut.secondsAfter) {
      cut.kind = CollectiveCut::Ring;
      cut.secondsAfter = ring;
    }
    return cut;
  }

  void apply(const CollectiveCut &cut, int64_t whole) {
    for (CutConsumer &consumer : consumers)
      cutConsumer(consumer);
    if (cut.kind == CollectiveCut::Ring)
      goAroundTheRing(whole);
  }

private:
  void findConsumers() {
    BufferUsers users(buffer);
    // One rank's tile of a buffer that is cut otherwise too could be anywhere.
    if (users.hasTiles)
      return;
    needsWhole = buffer.getKind() != plan::temporaryKind;
    for (OpOperand *use : users.uses) {
      if (use->getOwner() == gather)
        continue;
      if (std::optional<CutConsumer> consumer = consumerOf(*use))
        consumers.push_back(*consumer);
      else
        needsWhole = true;
    }
  }

  std::optional<CutConsumer> consumerOf(OpOperand &use) {
    auto matmul = dyn_cast<plan::MatmulOp>(use.getOwner());
    if (!matmul ||
        plan::bufferOf(matmul.getA()) == plan::bufferOf(matmul.getB()))
      return std::nullopt;
    MatmulTensor operand =
        use.getOperandNumber() == 0 ? MatmulTensor::A : MatmulTensor::B;
    std::optional<MatmulCut> cut = cutMatmul(formOf(matmul), operand, tiling);
    if (!cut)
      return std::nullopt;
    // The others that the cut falls in must not be cut otherwise yet.
    Value tensors[] = {matmul.getA(), matmul.getB(), matmul.getC()};
    for (auto [tensor, part] : llvm::zip_equal(tensors, cut->tilings))
      if (part && (plan::tileOf(tensor) ||
                   BufferUsers(plan::bufferOf(tensor)).hasTiles))
        return std::nullopt;
    return CutConsumer{matmul, operand, *cut};
  }

  double ownCopySeconds(const CostModel &cost) {
    if (!needsWhole)
      return 0;
    return cost.copySeconds(2.0 * plan::bytesOf(gather.getSource().getType()));
  }

  ArrayRef<int64_t> axes() { return gather.getAxes(); }

  /// A tile for each rank, in the order in which the ring brings them: the own,
  /// the previous rank's, ...
  void cutConsumer(CutConsumer &consumer) {
    OpBuilder b(consumer.matmul);
    Location loc = consumer.matmul.getLoc();
    Value whole[] = {consumer.matmul.getA(), consumer.matmul.getB(),
                     consumer.matmul.getC()};
    for (int64_t hop = 0; hop < group; ++hop) {
      MatmulCut cut = consumer.cut;
      SmallVector<Value> tensors;
      for (auto [i, tensor] : llvm::enumerate(whole)) {
        bool isGathered = MatmulTensor(i) == consumer.operand;
        if (isGathered && hop == 0) {
          cut.compact(consumer.operand);
          tensors.push_back(gather.getSource());
        } else if (cut.tilings[i]) {
          tensors.push_back(createTile(b, loc, tensor, *cut.tilings[i],
                                       (group - hop) % group, axes()));
        } else {
          tensors.push_back(tensor);
        }
      }
      createMatmul(b, consumer.matmul, tensors, cut.form);
    }
    consumer.matmul.erase();
  }

  void goAroundTheRing(int64_t whole) {
    OpBuilder b(gather);
    Location loc = gather.getLoc();
    Value target = buffer.getResult();
    int64_t chunk = tiling.chunk, period = chunk * group;
    int64_t runs = gather.getOuter();
    SmallVector<int64_t> from;
    for (int64_t rank = 0; rank < group; ++rank)
      from.push_back((rank + group - 1) % group);
    DictionaryAttr row = ledgerOfPiece(b, gather, group - 1, whole);
    Value arrived = gather.getSource();
    for (int64_t hop = 1; hop < group; ++hop) {
      Value next = createTile(b, loc, target, tiling, group - hop, axes());
      SmallVector<int64_t> pitches;
      if (runs > 1)
        pitches = {runs, hop == 1 ? chunk : period, period};
      plan::PermuteOp::create(b, loc, arrived, next, gather.getAxesAttr(),
                              b.getDenseI64ArrayAttr(from), row,
                              b.getI64IntegerAttr(0),
                              b.getDenseI64ArrayAttr(pitches));
      arrived = next;
    }
    if (needsWhole)
      plan::SliceOp::create(b, loc, gather.getSource(),
                            createTile(b, loc, target, tiling, 0, axes()),
                            b.getDenseI64ArrayAttr({}), gather.getOuterAttr(),
                            gather.getChunkAttr(), b.getI64IntegerAttr(0),
                            DictionaryAttr(), b.getI64IntegerAttr(0),
                            b.getI64IntegerAttr(period));
    gather.erase();
  }

  plan::AllGatherOp gather;
  plan::BufferOp buffer;
  int64_t group;
  Tiling tiling;
  std::vector<CutConsumer> consumers;
  /// Something else reads the gathered tensor.
  bool needsWhole = false;
};

//===----------------------------------------------------------------------===//
// matmul -> reduce_scatter, all_reduce
//===----------------------------------------------------------------------===//

class ReductionCutter {
public:
  /// `source` is what is reduced, seen as rows of `run` elements that the
  /// reduction keeps together: chunks are parts of a row.
  ReductionCutter(Operation *reduction, CollectiveKind kind, Value source,
                  int64_t run)
      : reduction(reduction), kind(kind), source(plan::bufferOf(source)),
        run(run) {
    findProduct();
  }

  bool isPossible() { return bool(matmul); }

  std::optional<CollectiveCut> choose(const CostModel &cost, int64_t chunks) {
    std::optional<CollectiveCut> best;
    SmallVector<int64_t> counts = {2, 3, 4, 6, 8};
    if (chunks > 1)
      counts = {chunks};
    for (int64_t pieces : counts)
      if (std::optional<CollectiveCut> next = price(cost, pieces))
        if (!best || next->secondsAfter < best->secondsAfter)
          best = next;
    return best;
  }

  void apply(const CollectiveCut &chosen, int64_t whole) {
    MatmulCut cut = *cutInto(chosen.pieces);
    cut.compact(MatmulTensor::C);
    OpBuilder b(matmul);
    DictionaryAttr row = ledgerOfPiece(b, reduction, chosen.pieces, whole);
    Tiling target{chosen.pieces, run / chosen.pieces};
    for (int64_t piece = 0; piece < chosen.pieces; ++piece) {
      Value part = createPart(b, chosen.pieces);
      Value operands[] = {matmul.getA(), matmul.getB()};
      SmallVector<Value> tensors;
      for (auto [i, tensor] : llvm::enumerate(operands))
        tensors.push_back(cut.tilings[i]
                              ? createTile(b, matmul.getLoc(), tensor,
                                           *cut.tilings[i], piece, {})
                              : tensor);
      tensors.push_back(part);
      createMatmul(b, matmul, tensors, cut.form);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPoint(reduction);
      createReduction(b, part, target, piece, row);
    }
    reduction->erase();
    matmul.erase();
    if (source.use_empty())
      source.erase();
  }

private:
  /// The product that makes what is reduced, if nothing else does and nothing
  /// else reads it.
  void findProduct() {
    BufferUsers users(source);
    if (source.getKind() != plan::temporaryKind || users.hasTiles ||
        users.uses.size() != 2)
      return;
    for (OpOperand *use : users.uses)
      if (auto product = dyn_cast<plan::MatmulOp>(use->getOwner()))
        if (use->getOperandNumber() == 2)
          matmul = product;
  }

  std::optional<MatmulCut> cutInto(int64_t pieces) {
    if (run % pieces != 0)
      return std::nullopt;
    std::optional<MatmulCut> cut =
        cutMatmul(formOf(matmul), MatmulTensor::C, {pieces, run / pieces});
    if (!cut)
      return std::nullopt;
    Value tensors[] = {matmul.getA(), matmul.getB()};
    for (auto [i, tensor] : llvm::enumerate(tensors))
      if (cut->tilings[i] && (plan::tileOf(tensor) ||
                              BufferUsers(plan::bufferOf(tensor)).hasTiles))
        return std::nullopt;
    return cut;
  }

  std::optional<CollectiveCut> price(const CostModel &cost, int64_t pieces) {
    std::optional<MatmulCut> cut = cutInto(pieces);
    if (!cut)
      return std::nullopt;
    int64_t width = elementBytesOf(source);
    double bytes = plan::bytesOf(source.getType());
    SmallVector<AxisId> axes = axesOf(reduction);
    double product = cost.matmulSeconds(workOf(cut->form), width);
    double piece = cost.collectiveSeconds(kind, bytes / pieces, axes);
    CollectiveCut result{CollectiveCut::Chunks, pieces, 0, 0};
    result.secondsBefore = cost.matmulSeconds(workOf(formOf(matmul)), width) +
                           cost.collectiveSeconds(kind, bytes, axes);
    result.secondsAfter =
        product + (pieces - 1) * std::max(product, piece) + piece;
    return result;
  }

  Value createPart(OpBuilder &b, int64_t pieces) {
    return plan::BufferOp::create(
        b, matmul.getLoc(),
        flatType(source.getResult(), elementsOf(source.getResult()) / pieces),
        b.getStringAttr(plan::temporaryKind), StringAttr(), IntegerAttr(),
        TypeAttr(), IntegerAttr());
  }

  void createReduction(OpBuilder &b, Value part, Tiling target, int64_t piece,
                       DictionaryAttr row) {
    Location loc = reduction->getLoc();
    if (auto scatter = dyn_cast<plan::ReduceScatterOp>(reduction)) {
      plan::ReduceScatterOp::create(
          b, loc, part,
          createTile(b, loc, scatter.getTarget(), target, piece, {}),
          scatter.getAxesAttr(), scatter.getOuterAttr(),
          b.getI64IntegerAttr(target.chunk), scatter.getReductionAttr(), row,
          b.getI64IntegerAttr(0), b.getI64IntegerAttr(run));
      return;
    }
    auto reduce = cast<plan::AllReduceOp>(reduction);
    plan::AllReduceOp::create(
        b, loc, ValueRange{part},
        ValueRange{
            createTile(b, loc, reduce.getTargets()[0], target, piece, {})},
        reduce.getAxesAttr(), reduce.getReductionAttr(), row,
        b.getI64IntegerAttr(0));
  }

  Operation *reduction;
  CollectiveKind kind;
  plan::BufferOp source;
  int64_t run;
  plan::MatmulOp matmul;
};

std::optional<ReductionCutter> reductionCutter(Operation *collective) {
  if (auto scatter = dyn_cast<plan::ReduceScatterOp>(collective))
    return ReductionCutter(collective, CollectiveKind::ReduceScatter,
                           scatter.getSource(), scatter.getChunk());
  auto reduce = dyn_cast<plan::AllReduceOp>(collective);
  if (!reduce || reduce.getSources().size() != 1)
    return std::nullopt;
  return ReductionCutter(collective, CollectiveKind::AllReduce,
                         reduce.getSources()[0],
                         elementsOf(reduce.getSources()[0]));
}

/// Ranks that take part.
int64_t groupOf(Operation *collective) {
  auto program = collective->getParentOfType<plan::ProgramOp>();
  int64_t group = 1;
  for (int64_t axis :
       collective->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef())
    group *= program.getSizes()[axis];
  return group;
}

} // namespace

std::optional<CollectiveCut>
tpsp::chooseCut(Operation *collective, const CostModel &cost, int64_t chunks) {
  if (!collective->hasAttr("axes") || groupOf(collective) == 1)
    return std::nullopt;
  if (auto gather = dyn_cast<plan::AllGatherOp>(collective)) {
    GatherCutter cutter(gather, groupOf(gather));
    return cutter.isPossible() ? std::optional(cutter.choose(cost))
                               : std::nullopt;
  }
  std::optional<ReductionCutter> cutter = reductionCutter(collective);
  return cutter && cutter->isPossible() ? cutter->choose(cost, chunks)
                                        : std::nullopt;
}

void tpsp::applyCut(Operation *collective, const CollectiveCut &cut,
                    int64_t whole) {
  if (auto gather = dyn_cast<plan::AllGatherOp>(collective))
    return GatherCutter(gather, groupOf(gather)).apply(cut, whole);
  reductionCutter(collective)->apply(cut, whole);
}
