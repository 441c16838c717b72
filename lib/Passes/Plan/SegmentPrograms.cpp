#include "SegmentPrograms.h"

#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tpsp;

/// The number of a buffer in the whole program.
static constexpr StringLiteral numberAttrName = "plan.buffer_number";

static SmallVector<plan::BufferOp> buffersOf(plan::ProgramOp program) {
  return llvm::to_vector(program.getBody().front().getOps<plan::BufferOp>());
}

SegmentPrograms::SegmentPrograms(plan::ProgramOp program, const Plan &plan)
    : whole(program), segments(plan.segments), buffers(buffersOf(program)),
      streams(plan.stageAxis < 0 ? 1 : numStageStreams) {
  Builder b(program.getContext());
  for (auto [i, buffer] : llvm::enumerate(buffers))
    buffer->setAttr(numberAttrName, b.getI64IntegerAttr(int64_t(i)));
  findUsers(plan);
  std::vector<SmallVector<Operation *>> commands(plan.segments.size());
  for (auto [op, command] :
       llvm::zip_equal(commandsOf(program), plan.commands)) {
    cast<plan::CommandOpInterface>(op).setPhase(command.phase);
    commands[command.segment].push_back(op);
  }
  for (size_t i = commands.size(); i-- > 0;)
    parts.push_back(makePart(commands[i], int64_t(i)));
  std::reverse(parts.begin(), parts.end());
}

bool tpsp::isShared(plan::BufferOp buffer) {
  return buffer->hasAttr(livesBeforeAttrName) ||
         buffer->hasAttr(livesAfterAttrName);
}

void SegmentPrograms::findUsers(const Plan &plan) {
  users.resize(plan.buffers.size());
  for (const PlanCommand &command : plan.commands)
    for (const PlanAccess &access : command.accesses)
      users[access.buffer].insert(command.segment);
}

/// Marks a part's buffer that has a value before or after the segment's
/// commands. A segment that runs again needs what one that does not has made.
/// With stages, values of several segments share no memory with others
/// (planStageArena()).
void SegmentPrograms::mark(plan::BufferOp buffer, int64_t segment) {
  const std::set<int64_t> &of =
      users[buffer->getAttrOfType<IntegerAttr>(numberAttrName).getInt()];
  bool keepsPlace = whole.getStageAxis().has_value() && of.size() > 1;
  bool isReadAgain =
      segments[segment].runsAgain() && llvm::any_of(of, [&](int64_t other) {
        return other < segment && !segments[other].runsAgain();
      });
  auto unit = UnitAttr::get(buffer.getContext());
  if (*of.begin() < segment || keepsPlace)
    buffer->setAttr(livesBeforeAttrName, unit);
  if (*of.rbegin() > segment || isReadAgain || keepsPlace)
    buffer->setAttr(livesAfterAttrName, unit);
}

/// Copies a buffer, a view or a tile with all that it is made of.
static void copy(Value value, OpBuilder &b, IRMapping &copies) {
  if (copies.contains(value))
    return;
  Operation *op = value.getDefiningOp();
  for (Value operand : op->getOperands())
    copy(operand, b, copies);
  b.clone(*op, copies);
}

/// A program of copies of these commands, and of the buffers that they access.
plan::ProgramOp SegmentPrograms::makePart(ArrayRef<Operation *> commands,
                                          int64_t segment) {
  auto part = cast<plan::ProgramOp>(whole->cloneWithoutRegions());
  whole->getBlock()->getOperations().insert(std::next(whole->getIterator()),
                                            part);
  part.removeMicroBatchesAttr();
  part.removeSegmentsAttr();
  OpBuilder b = OpBuilder::atBlockEnd(&part.getBody().emplaceBlock());
  IRMapping copies;
  for (Operation *op : commands)
    for (Value operand : op->getOperands())
      copy(operand, b, copies);
  for (plan::BufferOp buffer : buffersOf(part))
    mark(buffer, segment);
  for (Operation *op : commands)
    cast<plan::CommandOpInterface>(b.clone(*op, copies)).setSegment(0);
  return part;
}

namespace {

/// Orders the streams of a segment after those of the one before it.
class Barrier {
public:
  Barrier(OpBuilder &b, Location loc, int64_t segment, int64_t &events)
      : b(b), loc(loc), segment(segment), events(events) {}

  /// `later` waits for all that `earlier` has so far.
  void order(int64_t earlier, ArrayRef<int64_t> later) {
    IntegerAttr event = b.getI64IntegerAttr(events++);
    mark(plan::EventRecordOp::create(b, loc, event,
                                     b.getI64IntegerAttr(earlier)));
    for (int64_t stream : later)
      mark(plan::EventWaitOp::create(b, loc, event,
                                     b.getI64IntegerAttr(stream)));
  }

private:
  void mark(Operation *op) {
    cast<plan::CommandOpInterface>(op).setSegment(segment);
  }

  OpBuilder &b;
  Location loc;
  const int64_t segment;
  int64_t &events;
};

} // namespace

void SegmentPrograms::join() {
  for (Operation *op : commandsOf(whole))
    op->erase();
  for (auto [number, part] : llvm::enumerate(parts)) {
    add(part, int64_t(number));
    part.erase();
  }
  for (plan::BufferOp buffer : buffers)
    buffer->removeAttr(numberAttrName);
  whole.setStreams(streams);
  whole.setEvents(events);
}

/// Adds the commands of a part after all others.
void SegmentPrograms::add(plan::ProgramOp part, int64_t number) {
  auto b = OpBuilder::atBlockEnd(&whole.getBody().front());
  // Transfers have streams of their own already.
  bool isTransfer = segments[number].isTransfer();
  int64_t moved = isTransfer             ? 0
                  : whole.getStageAxis() ? numStageStreams - 1
                                         : 0;
  std::set<int64_t> used;
  for (Operation *op : commandsOf(part))
    if (auto stream = int64_t(cast<plan::CommandOpInterface>(op).getStream());
        stream > 0 && !isTransfer)
      used.insert(stream + moved);
  const SmallVector<int64_t> others(used.begin(), used.end());
  Barrier barrier(b, whole.getLoc(), number, events);
  if (!others.empty())
    barrier.order(0, others);
  int64_t firstEvent = events, firstWhole = wholes;
  IRMapping mapping;
  for (Operation &op : part.getBody().front()) {
    if (auto known = op.getAttrOfType<IntegerAttr>(numberAttrName)) {
      mapping.map(op.getResult(0), buffers[known.getInt()].getBuffer());
      continue;
    }
    Operation *made = b.clone(op, mapping);
    auto command = dyn_cast<plan::CommandOpInterface>(made);
    if (!command)
      continue;
    command.setSegment(number);
    if (int64_t stream = command.getStream())
      command.setStream(stream + moved);
    if (auto event = made->getAttrOfType<IntegerAttr>("event"))
      made->setAttr("event", b.getI64IntegerAttr(firstEvent + event.getInt()));
    plan::LedgerAttr ledger = command.getLedgerRow();
    if (!ledger || ledger.getRow().whole < 0)
      continue;
    LedgerRow row = ledger.getRow();
    row.whole += firstWhole;
    wholes = std::max(wholes, row.whole + 1);
    made->setAttr("ledger", plan::LedgerAttr::get(b.getContext(), row));
  }
  streams = std::max<int64_t>(streams, part.getStreams().value_or(1) + moved);
  events += int64_t(part.getEvents().value_or(0));
  for (int64_t stream : others)
    barrier.order(stream, {0});
}
