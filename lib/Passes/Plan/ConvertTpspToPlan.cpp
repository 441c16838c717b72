// convert-tpsp-to-plan: converts local operations to commands on buffers.
//
// First the commands are planned (PlannedCommands.h). Then matmuls take over
// work of kernels (FuseEpilogues.h). Only then are commands created
// (CommandEmission.h).
#include "CommandEmission.h"
#include "FuseEpilogues.h"
#include "InPlaceUpdates.h"
#include "StageSegments.h"

#include "Passes/Program/MachineOptions.h"
#include "Passes/Program/Placed.h"
#include "Passes/Program/SavedActivations.h"
#include "Passes/Program/StageMarks.h"
#include "Passes/Program/TensorBytes.h"
#include "Passes/Program/UnitAxes.h"
#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/StageAxis.h"
#include "tpsp/Dialect/Tpsp/Operations/PointwiseOps.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"
#include "tpsp/Schedule/StageActions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/STLExtras.h"

#include <map>

namespace tpsp {
#define GEN_PASS_DEF_CONVERTTPSPTOPLAN
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// Verifies that a value is a subscripted tensor of a type that the runtime
/// computes in.
static LogicalResult checkTensor(Value value) {
  Type type = value.getType();
  if (!getIdx(type))
    return emitErrorAt(value)
           << "not a tensor with #tpsp.idx subscripts: " << type
           << "; write its index names: tensor<4x8xf32, #tpsp.idx<s, d>>";
  Type element = cast<RankedTensorType>(type).getElementType();
  if (element.isF32() || element.isBF16() || element.isF16() ||
      element.isF64() || element.isInteger(32) || element.isInteger(8))
    return success();
  return emitErrorAt(value) << "programs compute in f32, bf16, f16 or f64, "
                               "with positions in i32 and masks in i8, not in "
                            << element;
}

static LogicalResult checkTensors(func::FuncOp function) {
  for (BlockArgument argument : function.getArguments())
    if (failed(checkTensor(argument)))
      return failure();
  for (Operation &op : function.getBody().front().without_terminator())
    for (Value result : op.getResults())
      if (failed(checkTensor(result)))
        return failure();
  return success();
}

/// The bytes of all tensors of a rank, as if none shared memory.
static TensorBytes bytesOfRank(func::FuncOp function, const Mesh &mesh) {
  TensorBytes bytes;
  for (BlockArgument argument : function.getArguments())
    bytes.add(argument, double(localBytes(argument.getType(), mesh)));
  for (Operation &op : function.getBody().front())
    for (Value result : op.getResults())
      bytes.add(result, double(localBytes(result.getType(), mesh)));
  return bytes;
}

/// Creates the program without commands.
static plan::ProgramOp createProgram(func::FuncOp function, const Mesh &mesh) {
  OpBuilder b(function);
  SmallVector<StringRef> names;
  SmallVector<int64_t> sizes;
  for (AxisId axis = 0; axis < mesh.numAxes(); ++axis) {
    names.push_back(mesh.axis(axis).name);
    sizes.push_back(mesh.size(axis));
  }
  // Only a function with a backward pass saves anything.
  int64_t saved = savedBytes(function, mesh);
  auto parts = function->getAttrOfType<IntegerAttr>(microBatchesAttrName);
  auto program = plan::ProgramOp::create(
      b, function.getLoc(), function.getSymNameAttr(), b.getStrArrayAttr(names),
      b.getDenseI64ArrayAttr(sizes), /*arena_bytes=*/IntegerAttr(),
      saved ? b.getI64IntegerAttr(saved) : IntegerAttr(),
      /*serial_bytes=*/IntegerAttr(),
      /*streams=*/IntegerAttr(), /*events=*/IntegerAttr(),
      /*layout_misses=*/IntegerAttr(), parts, /*stage_axis=*/IntegerAttr(),
      /*segments=*/ArrayAttr(), /*order=*/ArrayAttr(),
      /*pools=*/DenseI64ArrayAttr(), /*arenas=*/DenseI64ArrayAttr());
  program.getBody().emplaceBlock();
  return program;
}

/// Notes the segments of a program that counts before its micro-batches, or
/// whose layers are divided over stages.
static void noteSegments(plan::ProgramOp program, func::FuncOp function) {
  auto segments = function->getAttrOfType<ArrayAttr>(segmentsAttrName);
  if (!segments)
    return;
  program.setSegmentsAttr(segments);
  if (hasChunks(function))
    program.setStageAxis(*stageAxisOf(function));
}

/// Counts the products that run as loop nests, and emits a remark for each.
static void noteLayouts(plan::ProgramOp program,
                        ArrayRef<Operation *> withoutLayout) {
  if (withoutLayout.empty())
    return;
  for (Operation *op : withoutLayout)
    remark::missed(op->getLoc(), remark::RemarkOpts::name("layout").category(
                                     "convert-tpsp-to-plan"))
        << remark::reason("no layout of this product is a matrix without a "
                          "transpose copy; it runs as a loop nest")
        << remark::suggest("order the indices so that the summed ones, or the "
                           "kept ones, are innermost in each operand");
  program.setLayoutMisses(withoutLayout.size());
}

LogicalResult tpsp::emitCommand(ProgramBuilder &to,
                                const PlannedCommand &command) {
  Operation *op = command.op;
  switch (command.form) {
  case CommandForm::Kernel:
    emitKernelCall(to, *command.group);
    break;
  case CommandForm::Matmul:
    emitMatmul(to, command);
    break;
  case CommandForm::GroupedMatmul:
    emitGroupedMatmul(to, command);
    break;
  case CommandForm::Rows:
    emitRowKernels(to, op);
    break;
  case CommandForm::BlockCopy:
    emitBlockCopyKernel(to, cast<BlockCopyOpInterface>(op));
    break;
  case CommandForm::Attention:
    return emitAttention(to, cast<AttentionOpInterface>(op));
  case CommandForm::Collective:
    emitCollective(to, cast<CollectiveOpInterface>(op));
    break;
  case CommandForm::Exchange:
    emitExchange(to, cast<ExchangeOpInterface>(op));
    break;
  case CommandForm::Transfer:
    emitTransfer(to, op);
    break;
  case CommandForm::View:
  case CommandForm::None:
    llvm_unreachable("no command");
  }
  return success();
}

namespace {

/// Records the phase of commands, except of the first phase. The update has no
/// phase of its own. A parameter is updated, and gathered, as soon as its
/// gradient is ready, while the backward pass continues. The operations after
/// the last micro-batch, in its segment, have no phase of their own either.
class Phases {
public:
  explicit Phases(func::FuncOp function)
      : isLoop(function->hasAttr(microBatchesAttrName)),
        notes(function->getAttrOfType<ArrayAttr>(segmentsAttrName)) {
    if (isLoop)
      numbers[{0, false}] = 0;
  }

  /// All commands emitted since the last call belong to `source`.
  void mark(plan::ProgramOp program, Operation *source) {
    bool isOfLast = isInLast(source);
    if (isOfLast && !wasInLast)
      current = 0;
    wasInLast = isOfLast;
    bool hasPhase = !isUpdate(source) && (!isOfLast || hasPart(source));
    if (hasPhase)
      current = std::max(current, numberOf(source));
    Block &body = program.getBody().front();
    markSegment(body, segmentOf(source));
    if (current == 0) {
      lastOfFirst = body.empty() ? nullptr : &body.back();
      return;
    }
    for (Operation &op : llvm::reverse(body)) {
      auto command = dyn_cast<plan::CommandOpInterface>(op);
      if (&op == lastOfFirst || (command && command.getPhase()))
        break;
      if (command)
        command.setPhase(current);
    }
  }

private:
  /// The micro-batch, and whether it is of the backward pass.
  using Key = std::pair<std::optional<int64_t>, bool>;

  /// Without micro-batches, or in the prologue, no command is marked.
  void markSegment(Block &body, int64_t segment) {
    for (Operation &op : llvm::reverse(body)) {
      if (&op == lastInSegment || segment == 0)
        break;
      if (auto command = dyn_cast<plan::CommandOpInterface>(op))
        command.setSegment(segment);
    }
    lastInSegment = body.empty() ? nullptr : &body.back();
  }

  int64_t numberOf(Operation *source) {
    // The prologue's operations of the backward pass precede all of them.
    if (isLoop && isOfPrologue(source))
      return 0;
    Key key{originOf(source).part, isBackward(source)};
    return numbers.try_emplace(key, numbers.size()).first->second;
  }

  /// Whether the operation is in the segment of the last micro-batch.
  bool isInLast(Operation *source) const {
    if (!notes)
      return false;
    auto note = cast<DictionaryAttr>(notes[segmentOf(source)]);
    return note.getAs<StringAttr>("runs") == nameOf(SegmentRuns::Last);
  }

  bool isOfPrologue(Operation *source) const {
    int64_t number = segmentOf(source);
    if (!notes)
      return !hasPart(source) && number == 0;
    auto note = cast<DictionaryAttr>(notes[number]);
    return note.getAs<StringAttr>("work") == nameOf(SegmentWork::Prologue);
  }

  std::map<Key, int64_t> numbers;
  int64_t current = 0;
  bool wasInLast = false;
  Operation *lastOfFirst = nullptr; ///< the end of phase 0
  Operation *lastInSegment = nullptr;
  /// Whether the operations of a micro-batch stand for those of all.
  const bool isLoop;
  /// The segments, if the function notes them.
  const ArrayAttr notes;
};

/// Copies of results, which follow all other commands of a program whose layers
/// are divided over stages. Each stage copies its own, in a last segment.
class ResultCopies {
public:
  ResultCopies(plan::ProgramOp program, int64_t stages)
      : program(program), body(program.getBody().front()) {
    for (int64_t stage = 0; stage < stages; ++stage)
      all.push_back(stage);
  }

  /// Marks the commands after `last`.
  void place(Operation *last) {
    std::map<std::vector<int64_t>, SmallVector<plan::CommandOpInterface>>
        copies;
    bool isBehind = !last;
    for (Operation &op : body) {
      if (auto command = dyn_cast<plan::CommandOpInterface>(op);
          command && isBehind)
        copies[stagesOf(command)].push_back(command);
      else if (command)
        noteWrites(command);
      isBehind |= &op == last;
    }
    SmallVector<Attribute> segments(program.getSegmentsAttr().getValue());
    for (auto &[stages, commands] : copies) {
      for (plan::CommandOpInterface command : commands) {
        command->moveBefore(&body, body.end());
        command.setSegment(int64_t(segments.size()));
      }
      segments.push_back(updateSegment(stages));
    }
    program.setSegmentsAttr(
        Builder(program.getContext()).getArrayAttr(segments));
  }

private:
  void noteWrites(plan::CommandOpInterface command) {
    latest = command.getSegment().value_or(latest);
    SmallVector<MemoryEffects::EffectInstance> effects;
    cast<MemoryEffectOpInterface>(*command).getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects)
      if (effect.getValue() && isa<MemoryEffects::Write>(effect.getEffect()))
        writer[plan::bufferOf(effect.getValue())] = latest;
  }

  /// The stages that have what is copied; all have an argument.
  std::vector<int64_t> stagesOf(plan::CommandOpInterface copy) {
    auto known = writer.find(plan::bufferOf(copy->getOperand(0)));
    if (known == writer.end())
      return all;
    auto note = cast<DictionaryAttr>(program.getSegmentsAttr()[known->second]);
    return note.getAs<DenseI64ArrayAttr>("stages").asArrayRef().vec();
  }

  Attribute updateSegment(const std::vector<int64_t> &stages) {
    PlanSegment segment{"update"};
    segment.work = SegmentWork::Update;
    segment.stages = stages;
    return noteOf(segment, program.getContext());
  }

  plan::ProgramOp program;
  Block &body;
  std::vector<int64_t> all;
  llvm::DenseMap<Operation *, int64_t> writer;
  int64_t latest = 0;
};

/// Marks the commands after `last`, which copy results when all micro-batches
/// have ended.
void markCopies(plan::ProgramOp program, Operation *last, int64_t segment) {
  for (Operation &op : llvm::reverse(program.getBody().front())) {
    if (&op == last)
      return;
    if (auto command = dyn_cast<plan::CommandOpInterface>(op))
      command.setSegment(segment);
  }
}

/// Says how often a step performs the collectives of segments that run for some
/// micro-batches. The operations stand for all of them.
void countTimes(plan::ProgramOp program) {
  const Plan plan = planOf(program);
  for (auto [op, command] :
       llvm::zip_equal(commandsOf(program), plan.commands)) {
    const PlanSegment &segment = plan.segments[command.segment];
    bool isOfSome = segment.runs == SegmentRuns::AllButLast ||
                    segment.runs == SegmentRuns::Last;
    plan::LedgerAttr ledger = cast<plan::CommandOpInterface>(op).getLedgerRow();
    if (!isOfSome || !ledger)
      continue;
    LedgerRow row = ledger.getRow();
    row.times = plan.timesOf(segment);
    op->setAttr("ledger", plan::LedgerAttr::get(op->getContext(), row));
  }
}

/// Whether micro-batches add to sums.
bool hasSums(ModuleOp module) {
  return module->walk([](AccumulateOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

struct ConvertTpspToPlan
    : public WithOptions<
          tpsp::impl::ConvertTpspToPlanBase<ConvertTpspToPlan>,
          &CompileOptions::fuse, &CompileOptions::epilogues,
          &CompileOptions::addGradients, &CompileOptions::hardware,
          &CompileOptions::threads, &CompileOptions::stageSchedule,
          &CompileOptions::stageActions, &CompileOptions::stagePlacement,
          &CompileOptions::overlap> {
  using Base::Base;

  void runOnOperation() override {
    const Hardware *machine = nullptr;
    const CompileOptions &given = options();
    if (given.epilogues || (given.addGradients && hasSums(getOperation()))) {
      machine = MachineOptions{getOperation(), getArgument(), given.hardware,
                               given.threads}
                    .read();
      if (!machine)
        return signalPassFailure();
    }
    KernelLibrary library;
    library.widensSums = wideSums;
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    for (func::FuncOp function : functions) {
      if (function.isExternal())
        continue;
      // The program takes over the function's name.
      if (failed(convert(function, library, machine)))
        return signalPassFailure();
      function.erase();
    }
  }

  LogicalResult convert(func::FuncOp function, KernelLibrary &library,
                        const Hardware *machine) {
    if (failed(checkTensors(function)))
      return failure();
    Mesh mesh = meshOf(function);
    if (failed(checkBytes(bytesOfRank(function, mesh), mostRankBytes,
                          "a rank's step", function)))
      return failure();
    ProgramBuilder to(function, createProgram(function, mesh), mesh, library);
    dropUnitAxes(function, mesh);
    if (failed(to.buffers.addArguments()))
      return failure();
    splitWideSums(function);
    // Last, because values are remembered.
    auto schedule =
        StageSchedule::read(options().stageSchedule, options().stageActions,
                            options().stagePlacement);
    if (!schedule)
      return emitErrorAt(function) << llvm::toString(schedule.takeError());
    bool splitsLast = options().overlap != "off" && schedule->endsWithLast();
    FailureOr<SumMemory> sums =
        formSegments(function, {schedule->policy.splitsWeights, splitsLast,
                                schedule->isFolded});
    if (failed(sums))
      return failure();
    noteSegments(to.program, function);
    std::optional<CostModel> cost;
    if (machine && misfitOf(*machine, mesh).empty())
      cost.emplace(*machine, mesh, options().threads);
    const CostModel *known = cost ? &*cost : nullptr;
    FailureOr<PlannedCommands> planned =
        planCommands(function, keptBytes, fusionNamed(options().fuse),
                     options().addGradients ? *sums : SumMemory(),
                     {known, options().epilogues});
    if (failed(planned))
      return failure();
    noteLayouts(to.program, planned->withoutLayout);
    if (options().addGradients)
      fuseAdditions(planned->commands, *sums);
    if (options().epilogues)
      fuseEpilogues(planned->commands, known);
    to.buffers.setInPlace(
        findInPlaceUpdates(function, planned->commands, *sums));
    to.buffers.setGradients(GradientWays(function));
    Phases phases(function);
    for (const PlannedCommand &command : planned->commands) {
      if (failed(emitCommand(to, command)))
        return failure();
      phases.mark(to.program, command.op);
    }
    Block &commands = to.program.getBody().front();
    Operation *last = commands.empty() ? nullptr : &commands.back();
    to.buffers.markResults(returnedValues(function));
    if (to.program.getStageAxis())
      ResultCopies(to.program, mesh.size(*stageAxisOf(function))).place(last);
    else if (function->hasAttr(microBatchesAttrName))
      markCopies(to.program, last, updateSegmentOf(function));
    if (options().overlap != "off" && to.program.getMicroBatches())
      countTimes(to.program);
    return success();
  }
};

} // namespace
