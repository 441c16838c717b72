#include "tpsp/Passes/Plan/StepOfProgram.h"
#include "PlanMatmul.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Passes/Plan/PlanAttention.h"
#include "tpsp/Passes/Program/SourceName.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

using namespace mlir;
using namespace tpsp;

namespace {

class StepBuilder {
public:
  explicit StepBuilder(plan::ProgramOp program)
      : program(program), symbols(program->getParentOfType<ModuleOp>()) {}

  Step build() {
    step.program = program.getSymName().str();
    step.arenaBytes = program.getArenaBytes().value_or(0);
    step.numStreams = program.getStreams().value_or(1);
    step.numEvents = program.getEvents().value_or(0);
    std::vector<MeshAxis> axes;
    for (auto [axis, size] : llvm::zip_equal(
             program.getAxes().getAsRange<StringAttr>(), program.getSizes()))
      axes.push_back({axis.getValue().str(), size, AxisRole::None});
    step.mesh = Mesh(std::move(axes));
    for (Operation &op : program.getBody().front()) {
      if (auto buffer = dyn_cast<plan::BufferOp>(op))
        addBuffer(buffer);
      else if (auto command = dyn_cast<plan::CommandOpInterface>(op))
        addCommand(command);
    }
    for (auto [cotangent, result] : cotangents)
      if (auto found = results.find(result); found != results.end())
        step.buffers[cotangent].cotangentOf = found->second;
    return std::move(step);
  }

private:
  void addBuffer(plan::BufferOp buffer) {
    numberOf[buffer] = step.buffers.size();
    StepBuffer &added = step.buffers.emplace_back();
    added.name = buffer.getName().value_or("").str();
    if (added.name.empty())
      added.name = sourceName(buffer.getLoc()).value_or("");
    added.location = locationOf(buffer);
    added.bytes = plan::bytesOf(buffer.getType());
    if (buffer.getOffset())
      added.offset = *buffer.getOffset();
    StringRef kind = buffer.getKind();
    added.isArgument = kind == plan::inputKind || kind == plan::parameterKind;
    added.isResult = kind == plan::outputKind || kind == plan::gradientKind ||
                     kind == plan::choiceKind;
    int64_t position = numberOf[buffer];
    if (added.isResult)
      results[buffer.getNumber().value_or(0)] = position;
    if (auto result =
            buffer->getAttrOfType<IntegerAttr>(plan::cotangentOfAttrName))
      cotangents.push_back({position, result.getInt()});
  }

  static int64_t dtypeOf(Value value) {
    return plan::runtimeType(
        cast<MemRefType>(value.getType()).getElementType());
  }

  static int64_t widthOf(Value value) {
    return rt::elementBytes(dtypeOf(value));
  }

  static BufferPart partOf(Value value) {
    plan::TileOp tile = plan::tileOf(value);
    if (!tile)
      return {0, plan::bytesOf(value.getType()), 1, 0};
    int64_t width = widthOf(value), chunk = tile.getChunk() * width;
    int64_t run = tile.getRun() * width;
    return {int64_t(tile.getNumber()) * chunk + tile.getRunBegin() * width, run,
            plan::bytesOf(value.getType()) / run,
            chunk * int64_t(tile.getTiles())};
  }

  void addAccesses(Operation *op, StepCommand &command) {
    SmallVector<MemoryEffects::EffectInstance> effects;
    cast<MemoryEffectOpInterface>(op).getEffects(effects);
    for (const MemoryEffects::EffectInstance &effect : effects)
      if (Value value = effect.getValue())
        command.accesses.push_back(
            {numberOf.lookup(plan::bufferOf(value)), partOf(value),
             isa<MemoryEffects::Write>(effect.getEffect())});
  }

  static std::string locationOf(Operation *op) {
    auto file = op->getLoc()->findInstanceOf<FileLineColLoc>();
    if (!file)
      return "";
    return file.getFilename().str() + ":" + std::to_string(file.getLine()) +
           ":" + std::to_string(file.getColumn());
  }

  /// "matmul q": the call, and the value that it makes where the source has a
  /// name for it.
  static std::string nameOf(plan::CommandOpInterface op) {
    std::optional<std::string> value = sourceName(op->getLoc());
    return op.getCall().str() + (value ? " " + *value : "");
  }

  void addCommand(plan::CommandOpInterface op) {
    StepCommand &command = step.commands.emplace_back();
    command.name = nameOf(op);
    command.location = locationOf(op);
    if (auto stream = op->getAttrOfType<IntegerAttr>("stream"))
      command.stream = stream.getInt();
    addAccesses(op, command);
    // Of what it multiplies; what it writes beside may be wider.
    if (op->getNumOperands() > 0)
      command.dtype = dtypeOf(op->getOperands().front());
    describe(op, command);
  }

  void describe(Operation *op, StepCommand &command) {
    if (isa<plan::EventRecordOp, plan::EventWaitOp>(op)) {
      command.kind = isa<plan::EventRecordOp>(op) ? StepKind::EventRecord
                                                  : StepKind::EventWait;
      command.event = op->getAttrOfType<IntegerAttr>("event").getInt();
    } else if (auto matmul = dyn_cast<plan::MatmulOp>(op)) {
      command.kind = StepKind::Matmul;
      command.matmul = matmulWork(matmul);
    } else if (std::optional<AttentionWork> attention = attentionWork(op)) {
      command.kind = StepKind::Attention;
      command.attention = *attention;
    } else if (auto kernel = dyn_cast<plan::KernelOp>(op)) {
      if (!sourceName(op->getLoc()))
        command.name = kernel.getCallee().str();
      command.kernel = workOf(kernel);
    } else if (isa<plan::SliceOp>(op)) {
      command.kind = StepKind::Copy;
    } else {
      command.kind = StepKind::Collective;
      addCollective(op, command);
    }
  }

  KernelWork workOf(plan::KernelOp op) {
    // Many kernels are called once a layer; some with several grids.
    auto [known, isNew] =
        works.try_emplace({op.getCallee().str(), op.getGrid()});
    if (!isNew)
      return known->second;
    known->second.grid = op.getGrid();
    if (Operation *function = symbols.lookup(op.getCallee()))
      known->second = kernelWork(function, op.getGrid());
    return known->second;
  }

  void addCollective(Operation *op, StepCommand &command) {
    CollectiveWork &work = command.collective;
    work.kind = kindOf(op);
    for (int64_t axis :
         op->getAttrOfType<DenseI64ArrayAttr>("axes").asArrayRef())
      work.axes.push_back(axis);
    work.group = step.mesh.groupSize(work.axes);
    work.bytes = std::max(command.bytesRead(), command.bytesWritten());
    work.bytesSent = bytesSent(work.kind, work.bytes, work.group);
    auto ledger = op->getAttrOfType<DictionaryAttr>("ledger");
    if (!ledger)
      return;
    command.name = op->getName().stripDialect().str() + " " +
                   ledger.getAs<StringAttr>("tensor").getValue().str();
    if (auto whole = ledger.getAs<IntegerAttr>("whole"))
      work.whole = whole.getInt();
  }

  static CollectiveKind kindOf(Operation *op) {
    if (isa<plan::AllGatherOp>(op))
      return CollectiveKind::AllGather;
    if (isa<plan::ReduceScatterOp>(op))
      return CollectiveKind::ReduceScatter;
    if (isa<plan::AllToAllOp>(op))
      return CollectiveKind::AllToAll;
    if (isa<plan::PermuteOp>(op))
      return CollectiveKind::Permute;
    return CollectiveKind::AllReduce;
  }

  plan::ProgramOp program;
  SymbolTable symbols;
  Step step;
  llvm::DenseMap<Operation *, int64_t> numberOf;
  /// Positions of results by number; positions of cotangents, with the number
  /// of the result.
  llvm::DenseMap<int64_t, int64_t> results;
  std::vector<std::pair<int64_t, int64_t>> cotangents;
  std::map<std::pair<std::string, int64_t>, KernelWork> works;
};

} // namespace

Step tpsp::stepOf(plan::ProgramOp program) {
  return StepBuilder(program).build();
}
