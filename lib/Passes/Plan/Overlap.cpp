// tpsp-overlap: collectives on streams of their own, under computation.
#include "AlikePlans.h"
#include "CutSearch.h"
#include "Passes/Program/MachineOptions.h"
#include "SegmentPrograms.h"
#include "ShortProgram.h"
#include "tpsp/Passes/Options/OptionFlags.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "tpsp/Schedule/ArenaPlan.h"
#include "tpsp/Schedule/StageOrder.h"

#include "tpsp/Dialect/Tpsp/IR/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IR/IndexedTensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>
#include <map>

namespace tpsp {
#define GEN_PASS_DEF_OVERLAP
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// Puts the program's commands, which have this plan, into the order of
/// `items`, with their events.
static void rewrite(plan::ProgramOp program, const Plan &original,
                    ArrayRef<IssueItem> items, const Plan &scheduled) {
  Block &body = program.getBody().front();
  SmallVector<Operation *> commands = commandsOf(program);
  OpBuilder b(program.getContext());
  int64_t latestPhase = 0;
  // Commands move to the end, so that buffers, views and tiles are in front.
  for (const IssueItem &item : items) {
    b.setInsertionPointToEnd(&body);
    if (item.kind == IssueItem::Run) {
      auto command = cast<plan::CommandOpInterface>(commands[item.number]);
      int64_t phase = original.commands[item.number].phase;
      command->moveBefore(&body, body.end());
      command.setStream(item.stream);
      // A command without a phase has the phase of the command before it.
      if (phase != latestPhase)
        command.setPhase(phase);
      latestPhase = phase;
      continue;
    }
    IntegerAttr event = b.getI64IntegerAttr(item.number);
    IntegerAttr stream = b.getI64IntegerAttr(item.stream);
    if (item.kind == IssueItem::Record)
      plan::EventRecordOp::create(b, program.getLoc(), event, stream);
    else
      plan::EventWaitOp::create(b, program.getLoc(), event, stream);
  }
  program.setStreams(scheduled.numStreams);
  program.setEvents(scheduled.numEvents);
}

static std::string milliseconds(double seconds) {
  return llvm::formatv("{0:f3} ms", seconds * 1e3).str();
}

/// The overlap in the program's order that a word of --overlap names; nullopt
/// if the word allows any other.
static std::optional<InOrderOverlap> inOrderOverlapOf(StringRef word) {
  if (word == "backward")
    return InOrderOverlap::OwnProducts;
  if (word == "parameters")
    return InOrderOverlap::Parameters;
  return std::nullopt;
}

namespace {

/// The outcome of a search, for further programs of the same commands.
struct SearchOutcome {
  OverlapCandidate best;
  SimulatedStep serial;
  ArenaLimits limits;
  bool isTaken = false;
  /// scheduleKey() of the program with its cuts.
  std::string cutKey;
};

/// Replaces a program by the best scheduled program that is found for it.
/// Programs of the same commands are searched once.
class OverlapSearch {
public:
  /// The other parameters are the pass's options. `inOrder`: the overlap in the
  /// program's order that --overlap names; nullopt: any.
  OverlapSearch(const CostModel &cost, double memory, int64_t chunks,
                std::optional<InOrderOverlap> inOrder)
      : cost(cost), memory(memory), chunks(chunks), inOrder(inOrder) {}

  /// `name`: of what the program computes, for remarks.
  /// `more`: the bytes that its schedule may add; nullopt: the option's share.
  /// Returns the program, or a copy that has replaced it.
  FailureOr<plan::ProgramOp> run(plan::ProgramOp program, const Plan &plan,
                                 StringRef name = "a step",
                                 std::optional<int64_t> more = std::nullopt) {
    original = program;
    this->name = name;
    FailureOr<SimulatedStep> serial = simulated(plan);
    if (failed(serial))
      return failure();
    if (serial->exposure.communication == 0)
      return program;
    std::string key = scheduleKey(plan, cost);
    if (auto known = outcomes.find(key); known != outcomes.end())
      if (plan::ProgramOp same = repeat(known->second, plan))
        return same;
    FailureOr<int64_t> needed = arenaBytes(original, plan);
    if (failed(needed))
      return failure();
    constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
    limits = {*needed, more ? *needed + std::min(*more, unlimited - *needed)
                            : boundFor(*needed)};
    FailureOr<OverlapCandidate> best = search(plan, *serial);
    if (failed(best))
      return failure();
    const ScheduledPlan &schedule = best->found.best;
    bool isTaken = best->found.fits &&
                   (schedule.simulated.seconds < serial->seconds || chunks > 1);
    outcomes[key] = {*best, *serial, limits, isTaken,
                     scheduleKey(*best->plan, cost)};
    if (isTaken)
      explain(*best, *serial);
    else if (failed(explainNone(*best, *serial)))
      return failure();
    if (best->program != program)
      (isTaken ? program : best->program).erase();
    if (!isTaken)
      return program;
    rewrite(best->program, *best->plan, schedule.items, schedule.issued);
    best->program.setSerialBytes(limits.serialBytes);
    return best->program;
  }

  /// The bytes of the plan's arena.
  static FailureOr<int64_t> arenaBytes(plan::ProgramOp program,
                                       const Plan &plan) {
    HappensBefore before;
    if (auto fault = HappensBefore::analyse(plan, before))
      return emitErrorAt(program)
             << "command " << fault->command << ' ' << fault->message;
    return planArena(plan, before).bytes;
  }

  /// The bytes that a schedule's arena may have: those of the serial step, and
  /// the share that the option adds. They are at most the memory of the device,
  /// unless the serial step exceeds it anyway. The option does not limit
  /// `inOrder`, which predicts steps that others measured.
  int64_t boundFor(int64_t serial) const {
    if (inOrder)
      return std::numeric_limits<int64_t>::max();
    const Hardware &machine = cost.machine();
    int64_t device = machine.memoryBytes;
    if (machine.isCpu())
      device /= cost.ranks().numRanks();
    int64_t most = serial + int64_t(memory * double(serial));
    return serial <= device ? std::min(most, device) : most;
  }

private:
  /// Schedules the program as another one of the same commands. Returns it, or
  /// a copy that has replaced it; null if its cuts have other commands.
  plan::ProgramOp repeat(const SearchOutcome &known, const Plan &plan) {
    limits = known.limits;
    if (!known.isTaken)
      return succeeded(explainNone(known.best, known.serial)) ? original
                                                              : nullptr;
    OverlapCandidate same =
        CutSearch(cost, limits, chunks).repeat(known.best.cuts, original, plan);
    if (scheduleKey(*same.plan, cost) != known.cutKey) {
      if (same.program != original)
        same.program.erase();
      return nullptr;
    }
    explain(known.best, known.serial);
    if (same.program != original)
      original.erase();
    const ScheduledPlan &schedule = known.best.found.best;
    rewrite(same.program, *same.plan, schedule.items, schedule.issued);
    same.program.setSerialBytes(limits.serialBytes);
    return same.program;
  }

  FailureOr<OverlapCandidate> search(const Plan &plan,
                                     const SimulatedStep &serial) {
    if (inOrder)
      return searchInOrder(plan);
    if (std::optional<ShortProgram> few = shortProgram(original, plan)) {
      FailureOr<OverlapCandidate> found = searchByLayers(plan, serial, *few);
      few->program.erase();
      if (failed(found) || found->program)
        return found;
    }
    return CutSearch(cost, limits, chunks).run(original, plan);
  }

  FailureOr<OverlapCandidate> searchInOrder(const Plan &plan) {
    llvm::Expected<SearchedSchedule> only =
        scheduledInOrder(plan, cost, *inOrder);
    if (!only)
      return emitErrorAt(original) << llvm::toString(only.takeError());
    OverlapCandidate candidate;
    candidate.program = original;
    candidate.plan = std::make_shared<Plan>(plan);
    candidate.found = std::move(*only);
    return candidate;
  }

  /// Searches a program of few layers, which may add as many bytes. Then tries
  /// the same cuts and settings with all layers. The result has no program if
  /// none of these schedules fits and saves time.
  FailureOr<OverlapCandidate> searchByLayers(const Plan &plan,
                                             const SimulatedStep &serial,
                                             const ShortProgram &few) {
    FailureOr<int64_t> needed = arenaBytes(few.program, few.plan);
    if (failed(needed))
      return failure();
    ArenaLimits fewLimits{*needed,
                          *needed + limits.mostBytes - limits.serialBytes};
    CutSearch model(cost, fewLimits, chunks);
    FailureOr<OverlapCandidate> ofFew = model.run(few.program, few.plan);
    if (failed(ofFew))
      return failure();
    if (ofFew->program != few.program)
      ofFew->program.erase();
    FailureOr<OverlapCandidate> found =
        CutSearch(cost, limits, chunks)
            .runWith(model.takeTried(), original, plan, few.twins);
    if (failed(found))
      return failure();
    if (found->found.fits &&
        found->found.best.simulated.seconds < serial.seconds) {
      explainLayers(plan, few);
      return found;
    }
    if (found->program != original)
      found->program.erase();
    return OverlapCandidate();
  }

  void explainLayers(const Plan &plan, const ShortProgram &few) {
    remark::analysis(
        original.getLoc(),
        remark::RemarkOpts::name("layers").category("tpsp-overlap"))
        << remark::reason("layers are alike: cuts were searched for {0} of {1} "
                          "commands",
                          few.plan.commands.size(), plan.commands.size());
  }

  FailureOr<SimulatedStep> simulated(const Plan &plan) {
    llvm::Expected<SimulatedStep> step = simulate(plan, cost);
    if (!step)
      return emitErrorAt(original) << llvm::toString(step.takeError());
    return std::move(*step);
  }

  LogicalResult explainNone(const OverlapCandidate &candidate,
                            const SimulatedStep &serial) {
    const ScheduledPlan &found = candidate.found.best;
    FailureOr<int64_t> needed = arenaBytes(original, found.issued);
    if (failed(needed))
      return failure();
    auto missed = remark::missed(
        original.getLoc(),
        remark::RemarkOpts::name("overlap").category("tpsp-overlap"));
    if (candidate.found.fits)
      missed << remark::reason(
          "no schedule of {0} with communication under computation is faster: "
          "{1} against {2} one after another",
          name, milliseconds(found.simulated.seconds),
          milliseconds(serial.seconds));
    else
      missed << remark::reason(
          "no schedule of {0} with communication under computation fits: it "
          "needs {1} of {2} (more: --overlap-memory)",
          name, formatBytes(*needed), formatBytes(limits.mostBytes));
    return success();
  }

  void explain(const OverlapCandidate &candidate, const SimulatedStep &serial) {
    const ScheduledPlan &found = candidate.found.best;
    const Exposure &exposure = found.simulated.exposure;
    remark::passed(original.getLoc(),
                   remark::RemarkOpts::name("overlap").category("tpsp-overlap"))
        << remark::reason(
               "{0} takes {1} instead of {2}; {3} of {4} of communication "
               "are exposed",
               name, milliseconds(found.simulated.seconds),
               milliseconds(serial.seconds), milliseconds(exposure.exposed),
               milliseconds(exposure.communication))
        << remark::metric("bytes", found.arenaBytes)
        << remark::metric("bytes_before", limits.serialBytes);
  }

  const CostModel &cost;
  const double memory;
  const int64_t chunks;
  const std::optional<InOrderOverlap> inOrder;
  ArenaLimits limits;
  plan::ProgramOp original;
  StringRef name;
  /// The key is scheduleKey() of the program without cuts.
  std::map<std::string, SearchOutcome> outcomes;
};

struct Overlap
    : public WithOptions<
          tpsp::impl::OverlapBase<Overlap>, &CompileOptions::overlap,
          &CompileOptions::overlapMemory, &CompileOptions::overlapChunks,
          &CompileOptions::stageSchedule, &CompileOptions::stageActions,
          &CompileOptions::stagePlacement, &CompileOptions::stageBound,
          &CompileOptions::hardware, &CompileOptions::threads> {
  void runOnOperation() override {
    const CompileOptions &given = options();
    const Hardware *machine = MachineOptions{getOperation(), getArgument(),
                                             given.hardware, given.threads}
                                  .read();
    if (!machine)
      return signalPassFailure();
    for (auto program :
         llvm::to_vector(getOperation().getOps<plan::ProgramOp>()))
      if (failed(schedule(program, *machine)))
        return signalPassFailure();
  }

  LogicalResult schedule(plan::ProgramOp program, const Hardware &machine) {
    const Plan &plan = getChildAnalysis<PlanAnalysis>(program).plan;
    if (plan.numEvents > 0 || plan.numStreams > 1)
      return emitErrorAt(program)
             << "is scheduled already: it has " << plan.numStreams
             << " streams and " << plan.numEvents << " events";
    const CompileOptions &given = options();
    FailureOr<CostModel> cost =
        costsOn(machine, meshOf(program), given.threads, program);
    if (failed(cost))
      return failure();
    if (program.getMicroBatches())
      return scheduleSegments(program, plan, *cost);
    return LogicalResult(searchWith(*cost).run(program, plan));
  }

  OverlapSearch searchWith(const CostModel &cost) {
    return {cost, options().overlapMemory, options().overlapChunks,
            inOrderOverlapOf(options().overlap)};
  }

  /// Schedules each segment by itself. Segments run one after another, so each
  /// may add all the bytes that the step may add. If together they leave larger
  /// gaps in the arena, they are scheduled again in as much less memory.
  LogicalResult scheduleSegments(plan::ProgramOp program, const Plan &plan,
                                 const CostModel &cost) {
    FailureOr<int64_t> serial = arenaBytes(program, plan, cost);
    if (failed(serial))
      return failure();
    constexpr int mostTries = 3;
    int64_t most = searchWith(cost).boundFor(*serial), more = most - *serial;
    for (int tries = 0; tries < mostTries; ++tries) {
      auto copy = cast<plan::ProgramOp>(program->clone());
      program->getBlock()->getOperations().insert(
          std::next(program->getIterator()), copy);
      if (failed(scheduleIn(copy, plan, cost, more)))
        return failure();
      FailureOr<int64_t> bytes = arenaBytes(copy, planOf(copy), cost);
      if (failed(bytes))
        return failure();
      if (*bytes <= most) {
        copy.setSerialBytes(*serial);
        program.erase();
        return success();
      }
      copy.erase();
      int64_t less = more - (*bytes - most);
      more = tries == 0 ? std::max<int64_t>(less, 0) : less;
    }
    remark::missed(program.getLoc(),
                   remark::RemarkOpts::name("overlap").category("tpsp-overlap"))
        << remark::reason("the schedules of all segments together do not fit "
                          "in {0} (more: --overlap-memory)",
                          formatBytes(most));
    return success();
  }

  /// The bytes of the plan's arena; with stages, of the largest stage's.
  FailureOr<int64_t> arenaBytes(plan::ProgramOp program, const Plan &plan,
                                const CostModel &cost) {
    if (plan.stageAxis < 0)
      return OverlapSearch::arenaBytes(program, plan);
    const CompileOptions &given = options();
    auto schedule = StageSchedule::read(given.stageSchedule, given.stageActions,
                                        given.stagePlacement);
    if (!schedule)
      return emitErrorAt(program) << llvm::toString(schedule.takeError());
    auto order = orderStages(plan, cost, *schedule, given.stageBound);
    if (!order)
      return emitErrorAt(program) << llvm::toString(order.takeError());
    Plan ordered = plan;
    ordered.order = std::move(*order);
    return planStageArena(ordered).bytes;
  }

  /// Schedules the segments of a program. `more`: as for OverlapSearch::run().
  LogicalResult scheduleIn(plan::ProgramOp program, const Plan &plan,
                           const CostModel &cost, int64_t more) {
    OverlapSearch search = searchWith(cost);
    SegmentPrograms segments(program, plan);
    for (auto [number, segment] : llvm::enumerate(plan.segments)) {
      if (segment.isTransfer())
        continue;
      plan::ProgramOp part = segments.programs()[number];
      FailureOr<plan::ProgramOp> scheduled =
          search.run(part, planOf(part), segment.name, more);
      if (failed(scheduled))
        return failure();
      segments.replace(number, *scheduled);
    }
    segments.join();
    return success();
  }
};

} // namespace
