#include "tpsp/Passes/Plan/PlanOfProgram.h"
#include "Passes/Program/SourceName.h"
#include "PlanMatmul.h"
#include "tpsp/Abi/CheckedMath.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Algebra/Collective.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"
#include "tpsp/Dialect/Tpsp/IR/Padding.h"
#include "tpsp/Dialect/Tpsp/IR/SourceNames.h"
#include "tpsp/Dialect/Tpsp/IR/TpspDialect.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>

using namespace mlir;
using namespace tpsp;

SmallVector<Operation *> tpsp::commandsOf(plan::ProgramOp program) {
  SmallVector<Operation *> commands;
  for (auto command :
       program.getBody().front().getOps<plan::CommandOpInterface>())
    commands.push_back(command);
  return commands;
}

Mesh tpsp::meshOf(plan::ProgramOp program) {
  std::vector<MeshAxis> axes;
  for (auto [axis, size] : llvm::zip_equal(
           program.getAxes().getAsRange<StringAttr>(), program.getSizes()))
    axes.push_back({axis.getValue().str(), size, AxisRole::None});
  return axes;
}

static int64_t dtypeOf(Value value) {
  return plan::runtimeType(cast<MemRefType>(value.getType()).getElementType());
}

static BufferPart partOf(Value value) {
  plan::TileOp tile = plan::tileOf(value);
  if (!tile)
    return {0, plan::bytesOf(value.getType()), 1, 0};
  int64_t width = rt::elementBytes(dtypeOf(value));
  int64_t chunk = tile.getChunk() * width, run = tile.getRun() * width;
  return {int64_t(tile.getNumber()) * chunk + tile.getRunBegin() * width, run,
          plan::bytesOf(value.getType()) / run,
          chunk * int64_t(tile.getTiles())};
}

/// The padded indices that tpsp-pad-extents has noted.
static std::vector<PaddedIndex> paddedIndices(plan::ProgramOp program) {
  std::vector<PaddedIndex> indices;
  auto noted =
      program->getParentOfType<ModuleOp>()->getAttrOfType<DictionaryAttr>(
          unpaddedAttrName);
  for (NamedAttribute entry :
       noted ? noted.getValue() : ArrayRef<NamedAttribute>())
    if (auto extents = dyn_cast<DenseI64ArrayAttr>(entry.getValue()))
      if (extents.size() == 2)
        indices.push_back({entry.getName().str(), extents[0], extents[1]});
  return indices;
}

/// The runtime command of a call of attention, forward or backward.
static rt::AttentionCommand attentionCall(Operation *op) {
  if (auto forward = dyn_cast<plan::AttentionOp>(op))
    return plan::commandOf(forward);
  return plan::commandOf(cast<plan::AttentionGradientOp>(op));
}

/// The work of the rank whose queries begin at position 0.
static AttentionWork workOf(const rt::AttentionCommand &call, bool isGradient) {
  AttentionWork work;
  static_cast<ScoreOptions &>(work) = call;
  work.heads = call.batch * call.heads * call.groups;
  work.queries = call.queries;
  work.keys = call.keys;
  work.features = call.features;
  work.valueFeatures = call.valueFeatures;
  work.isGradient = isGradient;
  work.hidesKeys = call.hasSegments || call.hasLengths;
  return work;
}

static PlanSegment segmentOf(DictionaryAttr note) {
  PlanSegment segment;
  segment.name = note.getAs<StringAttr>("name").getValue().str();
  segment.runs =
      findNamed<SegmentRuns>(note.getAs<StringAttr>("runs").getValue())
          .value_or(SegmentRuns::Once);
  segment.work =
      findNamed<SegmentWork>(note.getAs<StringAttr>("work").getValue())
          .value_or(SegmentWork::Prologue);
  segment.chunk = note.getAs<IntegerAttr>("chunk").getInt();
  segment.peer = note.getAs<IntegerAttr>("peer").getInt();
  segment.stages = note.getAs<DenseI64ArrayAttr>("stages").asArrayRef().vec();
  return segment;
}

/// Reads the segments that a program notes.
static void readSegments(plan::ProgramOp program, Plan &result) {
  ArrayAttr notes = program.getSegmentsAttr();
  if (!notes)
    return;
  result.segments.clear();
  for (auto note : notes.getAsRange<DictionaryAttr>())
    result.segments.push_back(segmentOf(note));
}

/// Reads order and memory of a program with stages.
static void readStages(plan::ProgramOp program, Plan &result) {
  if (!program.getStageAxis())
    return;
  result.stageAxis = int64_t(*program.getStageAxis());
  if (ArrayAttr order = program.getOrderAttr())
    for (auto stage : order.getAsRange<DenseI64ArrayAttr>()) {
      ArrayRef<int64_t> numbers = stage.asArrayRef();
      result.order.emplace_back();
      for (; !numbers.empty(); numbers = numbers.drop_front(2))
        result.order.back().push_back({numbers[0], numbers[1]});
    }
  ArrayRef<int64_t> pools = program.getPools().value_or(ArrayRef<int64_t>());
  for (; !pools.empty(); pools = pools.drop_front(3))
    result.pools.push_back({pools[0], pools[1], pools[2]});
  if (std::optional<ArrayRef<int64_t>> arenas = program.getArenas())
    result.stageArenas = arenas->vec();
}

/// Finds the stages that have each buffer.
static void markStages(Plan &result) {
  if (result.stageAxis < 0)
    return;
  std::vector<std::set<int64_t>> stages(result.buffers.size());
  for (const PlanCommand &command : result.commands)
    for (const PlanAccess &access : command.accesses)
      for (int64_t stage : result.segments[command.segment].stages)
        stages[access.buffer].insert(stage);
  for (size_t i = 0; i < stages.size(); ++i)
    if (!stages[i].empty() && int64_t(stages[i].size()) < result.numStages()) {
      result.buffers[i].stages.assign(stages[i].begin(), stages[i].end());
      result.buffers[i].stageAxis = result.stageAxis;
    }
}

namespace {

/// Calls of attention whose queries the same axes divide. All ranks wait for
/// the rank with the most work over all of these calls.
class DividedCalls {
public:
  /// Command `number` of a plan, a call whose queries begin at `queryStart`.
  void add(const rt::AttentionCommand &command, size_t number) {
    calls[command.queryStart.axes].push_back({command, number});
  }

  /// Sets the work of the plan's commands to that of the busiest rank; the last
  /// among equals.
  void chargeMost(Plan &plan) const {
    Mesh mesh(plan.mesh);
    for (auto &[axes, called] : calls) {
      int64_t ranks = mesh.groupSize(AxisList(axes.begin(), axes.end()));
      double most = -1;
      int64_t busiest = 0;
      for (int64_t rank = 0; rank < ranks; ++rank)
        if (double flops = charge(plan, called, rank, ranks); flops >= most) {
          most = flops;
          busiest = rank;
        }
      charge(plan, called, busiest, ranks);
    }
  }

private:
  struct Call {
    rt::AttentionCommand command;
    size_t number;
  };

  static double charge(Plan &plan, const std::vector<Call> &calls, int64_t rank,
                       int64_t ranks) {
    double flops = 0;
    for (const Call &call : calls) {
      AttentionWork &work = plan.commands[call.number].attention;
      const rt::AttentionCommand &command = call.command;
      work.queryStart =
          command.startAmongKeys(command.queryStart.of(rank, ranks));
      flops += work.flops();
    }
    return flops;
  }

  std::map<std::vector<int64_t>, std::vector<Call>> calls;
};

class PlanBuilder {
public:
  explicit PlanBuilder(plan::ProgramOp program)
      : program(program), symbols(program->getParentOfType<ModuleOp>()),
        mesh(meshOf(program)) {}

  Plan build() {
    result.program = program.getSymName().str();
    for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
      result.mesh.push_back(mesh.axis(axis));
    result.padded = paddedIndices(program);
    result.arenaBytes = program.getArenaBytes().value_or(0);
    result.savedBytes = program.getSavedBytes().value_or(0);
    result.serialBytes = program.getSerialBytes().value_or(0);
    result.numStreams = program.getStreams().value_or(1);
    result.numEvents = program.getEvents().value_or(0);
    result.transposeCopies = program.getLayoutMisses().value_or(0);
    if (std::optional<uint64_t> parts = program.getMicroBatches()) {
      result.microBatches = int64_t(*parts);
      result.segments = {
          {"prologue"},
          {"micro-batch", SegmentRuns::Each, SegmentWork::MicroBatch},
          {"update", SegmentRuns::Once, SegmentWork::Update}};
    }
    readSegments(program, result);
    readStages(program, result);
    for (Operation &op : program.getBody().front()) {
      if (auto buffer = dyn_cast<plan::BufferOp>(op))
        addBuffer(buffer);
      else if (auto command = dyn_cast<plan::CommandOpInterface>(op))
        addCommand(command);
    }
    divided.chargeMost(result);
    markSums();
    markStages(result);
    return std::move(result);
  }

private:
  /// Marks what the prologue makes and micro-batches write.
  void markSums() {
    std::vector<bool> isMade(result.buffers.size());
    for (const PlanCommand &command : result.commands)
      for (const PlanAccess &access : command.accesses) {
        PlanBuffer &buffer = result.buffers[access.buffer];
        if (!access.isWrite || buffer.isArgument())
          continue;
        const PlanSegment &segment = result.segments[command.segment];
        if (!segment.isOfMicroBatch())
          isMade[access.buffer] = segment.work == SegmentWork::Prologue;
        else if (isMade[access.buffer])
          buffer.isSum = true;
      }
  }

  void addBuffer(plan::BufferOp buffer) {
    numberOf[buffer] = result.buffers.size();
    PlanBuffer &added = result.buffers.emplace_back();
    added.name = buffer.getName().value_or("").str();
    if (added.name.empty())
      added.name = sourceName(buffer.getLoc()).value_or("");
    added.kind = buffer.getKind();
    added.number = buffer.getNumber().value_or(0);
    added.dtype = dtypeOf(buffer);
    added.bytes = plan::bytesOf(buffer.getType());
    added.location = formatLocation(buffer.getLoc());
    added.livesBefore = buffer->hasAttr(livesBeforeAttrName);
    added.livesAfter = buffer->hasAttr(livesAfterAttrName);
    if (buffer.getOffset())
      added.offset = *buffer.getOffset();
    added.pool = int64_t(buffer.getPool().value_or(-1));
    if (buffer.getCut()) {
      added.cutDim = int64_t(*buffer.getCut());
      added.parts = result.microBatches;
      added.bytes *= added.parts;
    }
    if (buffer.getTensor())
      describeTensor(cast<RankedTensorType>(*buffer.getTensor()), added);
    describeValues(buffer, added);
  }

  /// Describes the tensor's shape and placement.
  void describeTensor(RankedTensorType type, PlanBuffer &tensor) {
    tensor.shape.assign(type.getShape().begin(), type.getShape().end());
    IdxAttr idx = getIdx(type);
    if (!idx)
      return;
    tensor.subscripts = subscripts(type);
    if (tensor.isCut())
      tensor.shape[tensor.cutDim] *= tensor.parts;
    takeOffPadding(indexNames(type), tensor);
    for (ArrayAttr axes : idx.getAxes()) {
      tensor.axes.emplace_back();
      for (auto axis : axes.getAsRange<StringAttr>())
        tensor.axes.back().push_back(*mesh.find(axis));
    }
    for (StringAttr axis : idx.getPending())
      tensor.pending.push_back(*mesh.find(axis));
    tensor.pendingMax = idx.getPendingMax();
  }

  /// Changes a shape that ranks divide to the shape in the program.
  void takeOffPadding(ArrayRef<StringRef> names, PlanBuffer &tensor) {
    for (auto [dim, name] : llvm::enumerate(names)) {
      auto padded = llvm::find_if(result.padded, [&, name = name](auto &each) {
        return each.name == name;
      });
      if (padded == result.padded.end())
        continue;
      tensor.padding.resize(names.size(), 0);
      tensor.padding[dim] = tensor.shape[dim] - padded->extent;
      tensor.shape[dim] = padded->extent;
    }
  }

  /// Describes the values that the buffer holds.
  static void describeValues(plan::BufferOp buffer, PlanBuffer &tensor) {
    tensor.below = buffer.getBelow().value_or(0);
    auto number = [](std::optional<APFloat> value, auto &into) {
      if (value)
        into = value->convertToDouble();
    };
    number(buffer.getMean(), tensor.mean);
    number(buffer.getDeviation(), tensor.deviation);
    number(buffer.getInitialDeviation(), tensor.initialDeviation);
    tensor.data = findNamed<DataRole>(buffer.getData().value_or(""))
                      .value_or(DataRole::None);
    tensor.isMaster = buffer.getMaster();
    tensor.isScalar = buffer.getScalar();
    tensor.isForGradient = buffer.getForGradient();
    tensor.updatedBy = int64_t(buffer.getUpdatedBy().value_or(-1));
    tensor.of = int64_t(buffer.getOf().value_or(-1));
  }

  void addCommand(plan::CommandOpInterface op) {
    PlanCommand &command = result.commands.emplace_back();
    command.kind = op.getCommandKind();
    command.call = op.getCall().str();
    command.value = sourceName(op->getLoc()).value_or("");
    command.location = formatLocation(op->getLoc());
    command.stream = int64_t(op.getStream());
    // A piece of another command belongs to the phase of that command.
    command.phase = latestPhase = op.getPhase().value_or(latestPhase);
    command.segment = latestSegment = op.getSegment().value_or(latestSegment);
    addAccesses(op, command);
    // The type of its factors; further outputs may be wider.
    if (op->getNumOperands() > 0)
      command.dtype = dtypeOf(op->getOperands().front());
    describe(op, command);
  }

  static void addProduct(Operation *op, PlanCommand &command) {
    if (auto grouped = dyn_cast<plan::GroupedMatmulOp>(op)) {
      rt::GroupedMatmulCommand product = plan::commandOf(grouped);
      command.matmul = matmulWork(product, rt::elementBytes(product.dtype));
      command.matmul.isGrouped = true;
      return;
    }
    auto matmul = cast<plan::MatmulOp>(op);
    command.matmul = matmulWork(matmul);
    command.epilogue = plan::epilogueOf(matmul);
  }

  void addAccesses(Operation *op, PlanCommand &command) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    cast<MemoryEffectOpInterface>(op).getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects)
      if (Value value = effect.getValue())
        command.accesses.push_back(
            {numberOf.lookup(plan::bufferOf(value)), partOf(value),
             isa<MemoryEffects::Write>(effect.getEffect())});
  }

  void describe(plan::CommandOpInterface op, PlanCommand &command) {
    switch (command.kind) {
    case CommandKind::Matmul:
      addProduct(op, command);
      break;
    case CommandKind::Attention:
      addAttention(op, command);
      break;
    case CommandKind::Kernel:
      if (command.value.empty())
        command.call =
            cast<plan::KernelOp>(op.getOperation()).getCallee().str();
      command.kernel = workOf(cast<plan::KernelOp>(op.getOperation()));
      break;
    case CommandKind::Copy:
      break;
    case CommandKind::Collective:
      addCollective(op, command);
      break;
    case CommandKind::EventRecord:
      command.event = cast<plan::EventRecordOp>(op.getOperation()).getEvent();
      break;
    case CommandKind::EventWait:
      command.event = cast<plan::EventWaitOp>(op.getOperation()).getEvent();
      break;
    }
  }

  void addAttention(Operation *op, PlanCommand &command) {
    rt::AttentionCommand call = attentionCall(op);
    command.attention = ::workOf(call, !isa<plan::AttentionOp>(op));
    if (!call.queryStart.isZero())
      divided.add(call, result.commands.size() - 1);
  }

  KernelWork workOf(plan::KernelOp op) {
    // Many kernels are called once a layer, some with several grids.
    auto [known, isNew] =
        works.try_emplace({op.getCallee().str(), op.getGrid()});
    if (!isNew)
      return known->second;
    known->second.grid = op.getGrid();
    if (Operation *function = symbols.lookup(op.getCallee()))
      known->second = kernelWork(function, op.getGrid());
    return known->second;
  }

  void addCollective(plan::CommandOpInterface op, PlanCommand &command) {
    CollectiveWork &work = command.collective;
    work.kind = *op.getCollectiveKind();
    ArrayRef<int64_t> axes = op.getCollectiveAxes();
    work.axes.assign(axes.begin(), axes.end());
    work.group = mesh.groupSize(work.axes);
    work.bytes = std::max(command.bytesRead(), command.bytesWritten());
    work.bytesSent = bytesSent(work.kind, work.bytes, work.group);
    plan::LedgerAttr ledger = op.getLedgerRow();
    if (!ledger)
      return;
    command.value = ledger.getRow().tensor;
    work.row = rowFor(ledger.getRow(), command);
    result.ledger[work.row].commands.push_back(int64_t(result.commands.size()) -
                                               1);
  }

  /// A row for this command, or the row of the collective that it is a piece
  /// of.
  int64_t rowFor(LedgerRow row, const PlanCommand &command) {
    auto number = int64_t(result.ledger.size());
    if (row.whole >= 0) {
      auto [found, isNew] = rowOfWhole.try_emplace(row.whole, number);
      if (!isNew) {
        LedgerRow &known = result.ledger[found->second];
        known.bytes = rt::saturatedSum(known.bytes, row.bytes);
        return found->second;
      }
    }
    row.location = command.location;
    if (result.stageAxis >= 0)
      row.stages = result.segments[command.segment].stages;
    // A piece of a cut collective has the kind of the whole.
    if (row.whole < 0)
      row.kind = command.collective.kind;
    result.ledger.push_back(std::move(row));
    return number;
  }

  plan::ProgramOp program;
  SymbolTable symbols;
  const Mesh mesh;
  Plan result;
  int64_t latestPhase = 0, latestSegment = 0;
  DividedCalls divided;
  llvm::DenseMap<Operation *, int64_t> numberOf;
  llvm::DenseMap<int64_t, int64_t> rowOfWhole;
  std::map<std::pair<std::string, int64_t>, KernelWork> works;
};

} // namespace

Plan tpsp::planOf(plan::ProgramOp program) {
  return PlanBuilder(program).build();
}
