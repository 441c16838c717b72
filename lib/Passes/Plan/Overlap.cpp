// tpsp-overlap: collectives on streams of their own, under computation.
#include "CollectiveCuts.h"
#include "Passes/Program/MachineOptions.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "tpsp/Schedule/ArenaPlan.h"
#include "tpsp/Schedule/OverlapSchedulers.h"
#include "tpsp/Schedule/OwnProducts.h"
#include "tpsp/Schedule/Simulator.h"
#include "tpsp/Schedule/StepOverlap.h"
#include "tpsp/Schedule/StreamIssue.h"

#include "tpsp/Dialect/Tpsp/ErrorPlace.h"
#include "tpsp/Dialect/Tpsp/IndexedTensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

#include <limits>

namespace tpsp {
#define GEN_PASS_DEF_OVERLAP
#include "tpsp/Passes/Passes.h.inc"
} // namespace tpsp

using namespace mlir;
using namespace tpsp;

/// The plan as it will be issued.
static Plan reordered(const Plan &plan, ArrayRef<IssueItem> items,
                      int64_t numStreams) {
  Plan result;
  result.mesh = plan.mesh;
  result.buffers = plan.buffers;
  result.ledger = plan.ledger;
  for (LedgerRow &row : result.ledger)
    row.commands.clear();
  result.numStreams = numStreams;
  for (const IssueItem &item : items) {
    PlanCommand &command = result.commands.emplace_back();
    if (item.kind == IssueItem::Run) {
      command = plan.commands[item.number];
      if (int64_t row = command.collective.row; row >= 0)
        result.ledger[row].commands.push_back(int64_t(result.commands.size()) -
                                              1);
    } else {
      command.kind = item.kind == IssueItem::Record ? CommandKind::EventRecord
                                                    : CommandKind::EventWait;
      command.event = item.number;
      result.numEvents = std::max(result.numEvents, item.number + 1);
    }
    command.stream = item.stream;
  }
  return result;
}

/// Puts the program's commands, which have this plan, into the order of
/// `items`, with their events.
static void rewrite(plan::ProgramOp program, const Plan &original,
                    ArrayRef<IssueItem> items, const Plan &scheduled) {
  Block &body = program.getBody().front();
  SmallVector<Operation *> commands = commandsOf(program);
  OpBuilder b(program.getContext());
  int64_t latestPhase = 0;
  // What is left in front: buffers, views, tiles.
  for (const IssueItem &item : items) {
    b.setInsertionPointToEnd(&body);
    if (item.kind == IssueItem::Run) {
      auto command = cast<plan::CommandOpInterface>(commands[item.number]);
      int64_t phase = original.commands[item.number].phase;
      command->moveBefore(&body, body.end());
      command.setStream(item.stream);
      // Without one, a command is of the phase of the one before it.
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

namespace {

/// A program with a schedule.
struct Candidate {
  plan::ProgramOp program;
  Plan plan;
  std::vector<IssueItem> items;
  Plan scheduled;
  SimulatedStep simulated;
  /// At most what a schedule may take if an arena of that was found, else more
  /// (arenaBytesWithin).
  int64_t arenaBytes = 0;
};

/// Finds the best schedule of one program, cutting what stays exposed.
class OverlapSearch {
public:
  /// The rest are the pass's options.
  OverlapSearch(const CostModel &cost, double memory, int64_t chunks,
                bool ownProducts)
      : cost(cost), memory(memory), chunks(ownProducts ? 1 : chunks),
        ownProducts(ownProducts) {}

  /// Replaces `program`, which has this plan, by the best that was found,
  /// scheduled.
  LogicalResult run(plan::ProgramOp program, const Plan &plan) {
    if (plan.numEvents > 0 || plan.numStreams > 1)
      return emitErrorAt(program)
             << "is scheduled already: it has " << plan.numStreams
             << " streams and " << plan.numEvents << " events";
    llvm::Expected<SimulatedStep> serial = simulate(plan, cost);
    if (!serial)
      return emitErrorAt(program) << llvm::toString(serial.takeError());
    if (serial->exposure.communication == 0)
      return success();
    original = program;
    FailureOr<int64_t> needed = arenaBytes(plan);
    if (failed(needed))
      return failure();
    serialBytes = *needed;
    mostBytes = boundFor(serialBytes);
    for (const LedgerRow &row : plan.ledger)
      wholes = std::max(wholes, row.whole + 1);
    FailureOr<Candidate> best = schedule(original, plan);
    if (failed(best) || failed(improveByCuts(*best)))
      return failure();
    if ((best->simulated.seconds >= serial->seconds && chunks < 2) ||
        !fits(*best)) {
      if (failed(explainNone(*best, *serial)))
        return failure();
      if (best->program != program)
        best->program.erase();
      return success();
    }
    if (failed(explain(*best, *serial)))
      return failure();
    if (best->program != program)
      program.erase();
    rewrite(best->program, best->plan, best->items, best->scheduled);
    best->program.setSerialBytes(serialBytes);
    return success();
  }

private:
  /// What a schedule may take: what the option adds, and no more than a device
  /// has, unless the step is too large for it anyway. What others do, they do
  /// whatever it takes.
  int64_t boundFor(int64_t serial) const {
    const Hardware &machine = cost.machine();
    int64_t device = machine.memoryBytes;
    if (machine.isCpu())
      device /= cost.ranks().numRanks();
    int64_t most = ownProducts ? std::numeric_limits<int64_t>::max()
                               : serial + int64_t(memory * double(serial));
    return serial <= device ? std::min(most, device) : most;
  }

  void drop(Candidate &candidate) {
    if (candidate.program != original)
      candidate.program.erase();
  }

  /// The fastest of the schedules that are found with all the memory that may
  /// be added, with half of it and with none. More room is not always used
  /// well. If none fits, the one that needs least.
  FailureOr<Candidate> schedule(plan::ProgramOp program, const Plan &plan) {
    std::optional<Candidate> best;
    int64_t extra = mostBytes - serialBytes;
    for (int64_t more : {extra, extra / 2, int64_t(0)}) {
      if (failed(scheduleIn(serialBytes + more, program, plan, best)))
        return failure();
      if (extra == 0 || ownProducts)
        break;
    }
    return std::move(*best);
  }

  bool fits(const Candidate &candidate) const {
    return candidate.arenaBytes <= mostBytes;
  }

  bool isBetter(const Candidate &a, const Candidate &b) const {
    if (fits(a) != fits(b))
      return fits(a);
    return fits(a) ? a.simulated.seconds < b.simulated.seconds
                   : a.arenaBytes < b.arenaBytes;
  }

  /// Schedules in so many bytes, the fastest first, until a few have been found
  /// that fit. Puts the best in the place of `best`, if it is better. In an
  /// arena, buffers leave gaps: so one that the memory has room for may not
  /// fit. Then the next is tried, and then commands wait for more of each
  /// other.
  LogicalResult scheduleIn(int64_t bytes, plan::ProgramOp program,
                           const Plan &plan, std::optional<Candidate> &best) {
    constexpr int enough = 2;
    int found = 0;
    for (bool waitsForRoom : {false, true}) {
      if (found == enough)
        break;
      OverlapProblem problem = overlapProblemOf(plan, cost, bytes);
      problem.waitsForRoom = waitsForRoom;
      if (std::optional<std::string> wrong = problem.check())
        return emitErrorAt(program) << "cannot be scheduled: " << *wrong;
      for (const OverlapSchedule &schedule : variants(plan, problem)) {
        if (found == enough)
          break;
        FailureOr<Candidate> next = candidate(program, plan, problem, schedule);
        if (failed(next))
          return failure();
        found += fits(*next);
        if (!best || isBetter(*next, *best))
          best = std::move(*next);
      }
    }
    return success();
  }

  std::vector<OverlapSchedule> variants(const Plan &plan,
                                        OverlapProblem &problem) const {
    if (!ownProducts)
      return scheduleVariants(problem);
    problem.capacity = std::numeric_limits<int64_t>::max();
    return {scheduleOwnProducts(plan, problem)};
  }

  FailureOr<Candidate> candidate(plan::ProgramOp program, const Plan &plan,
                                 const OverlapProblem &problem,
                                 const OverlapSchedule &schedule) {
    if (std::optional<std::string> wrong = verify(problem, schedule))
      return emitErrorAt(program) << "was scheduled wrongly: " << *wrong;
    Candidate result;
    result.program = program;
    result.plan = plan;
    result.items = issueOf(problem, schedule);
    result.scheduled = reordered(plan, result.items, problem.numStreams);
    HappensBefore before;
    if (failed(analyse(result.scheduled, before)))
      return failure();
    result.arenaBytes = arenaBytesWithin(mostBytes, result.scheduled, before);
    llvm::Expected<SimulatedStep> simulated = simulate(result.scheduled, cost);
    if (!simulated)
      return emitErrorAt(program) << llvm::toString(simulated.takeError());
    result.simulated = std::move(*simulated);
    return result;
  }

  LogicalResult analyse(const Plan &plan, HappensBefore &before) {
    if (auto fault = HappensBefore::analyse(plan, before))
      return emitErrorAt(original)
             << "command " << fault->command << ' ' << fault->message;
    return success();
  }

  FailureOr<int64_t> arenaBytes(const Plan &plan) {
    HappensBefore before;
    if (failed(analyse(plan, before)))
      return failure();
    return planArena(plan, before).bytes;
  }

  /// Which collectives are cut.
  enum class Cuts {
    Exposed, ///< what the best schedule so far leaves exposed, if it pays alone
    Paying,  ///< all that pay alone
    All      ///< all that can be
  };

  /// Tries schedules with collectives cut, as long as they get better. A cut
  /// can expose what was hidden, so there are a few rounds.
  LogicalResult improveByCuts(Candidate &best) {
    if (chunks == 1)
      return success();
    if (chunks > 1)
      return improved(tryCuts(best, Cuts::All, /*keepAnyway=*/true));
    Candidate whole = best;
    constexpr int mostRounds = 3;
    for (int round = 0; round < mostRounds; ++round) {
      FailureOr<bool> wasBetter = tryCuts(best, Cuts::Exposed, false);
      if (failed(wasBetter))
        return failure();
      if (!*wasBetter)
        break;
    }
    return improved(tryCuts(whole, Cuts::Paying, false, &best));
  }

  static LogicalResult improved(FailureOr<bool> result) {
    return failed(result) ? failure() : success();
  }

  /// Cuts a copy of `base` and puts it in the place of `best` (by default
  /// `base` itself) if it is faster, or anyway. Whether it did.
  FailureOr<bool> tryCuts(Candidate &base, Cuts cuts, bool keepAnyway,
                          Candidate *best = nullptr) {
    best = best ? best : &base;
    auto copy = cast<plan::ProgramOp>(base.program->clone());
    base.program->getBlock()->getOperations().insert(
        std::next(base.program->getIterator()), copy);
    if (cutIn(copy, base, cuts) == 0) {
      copy.erase();
      return false;
    }
    FailureOr<Candidate> next = schedule(copy, planOf(copy));
    if (failed(next))
      return failure();
    if (!keepAnyway && !isBetter(*next, *best)) {
      copy.erase();
      return false;
    }
    drop(*best);
    *best = std::move(*next);
    return true;
  }

  bool shouldCut(Cuts cuts, const CollectiveCut &cut, double exposed) const {
    bool pays = cut.secondsAfter < cut.secondsBefore;
    return cuts == Cuts::All || (pays && (cuts == Cuts::Paying || exposed > 0));
  }

  /// How many collectives of `copy`, a copy of `base`'s program, were cut.
  int64_t cutIn(plan::ProgramOp copy, const Candidate &base, Cuts cuts) {
    std::vector<double> exposed(base.plan.commands.size(), 0);
    for (auto [item, times] :
         llvm::zip_equal(base.items, base.simulated.exposure.commands))
      if (item.kind == IssueItem::Run)
        exposed[item.number] = times.exposed;
    int64_t count = 0;
    for (auto [i, op] : llvm::enumerate(commandsOf(copy))) {
      const PlanCommand &command = base.plan.commands[i];
      int64_t row = command.collective.row;
      bool isPiece = row >= 0 && base.plan.ledger[row].whole >= 0;
      if (command.kind != CommandKind::Collective || isPiece)
        continue;
      std::optional<CollectiveCut> cut = chooseCut(op, cost, chunks);
      if (!cut || !shouldCut(cuts, *cut, exposed[i]))
        continue;
      applyCut(op, *cut, wholes++);
      ++count;
    }
    return count;
  }

  LogicalResult explainNone(Candidate &found, const SimulatedStep &serial) {
    FailureOr<int64_t> needed = arenaBytes(found.scheduled);
    if (failed(needed))
      return failure();
    auto missed = remark::missed(
        found.program.getLoc(),
        remark::RemarkOpts::name("overlap").category("tpsp-overlap"));
    if (fits(found))
      missed << remark::reason(
          "no schedule with communication under computation is faster: {0} "
          "against {1} one after another",
          milliseconds(found.simulated.seconds), milliseconds(serial.seconds));
    else
      missed << remark::reason(
          "no schedule with communication under computation fits: it needs {0} "
          "of {1} (more: --overlap-memory)",
          formatBytes(*needed), formatBytes(mostBytes));
    return success();
  }

  LogicalResult explain(Candidate &found, const SimulatedStep &serial) {
    FailureOr<int64_t> needed = arenaBytes(found.scheduled);
    if (failed(needed))
      return failure();
    const Exposure &exposure = found.simulated.exposure;
    remark::passed(found.program.getLoc(),
                   remark::RemarkOpts::name("overlap").category("tpsp-overlap"))
        << remark::reason(
               "a step takes {0} instead of {1}; {2} of {3} of communication "
               "are exposed",
               milliseconds(found.simulated.seconds),
               milliseconds(serial.seconds), milliseconds(exposure.exposed),
               milliseconds(exposure.communication))
        << remark::metric("bytes", *needed)
        << remark::metric("bytes_before", serialBytes);
    return success();
  }

  const CostModel &cost;
  const double memory;
  const int64_t chunks;
  const bool ownProducts;
  /// Of the arena, one command after another, and at most.
  int64_t serialBytes = 0, mostBytes = 0;
  /// The number of the next collective that is cut.
  int64_t wholes = 0;
  plan::ProgramOp original;
};

struct Overlap : public tpsp::impl::OverlapBase<Overlap> {
  using Base::Base;

  void runOnOperation() override {
    const Hardware *machine =
        MachineOptions{getOperation(), getArgument(), hardware, threads}.read();
    if (!machine)
      return signalPassFailure();
    for (auto program :
         llvm::to_vector(getOperation().getOps<plan::ProgramOp>()))
      if (failed(schedule(program, *machine)))
        return signalPassFailure();
  }

  LogicalResult schedule(plan::ProgramOp program, const Hardware &machine) {
    Mesh mesh = meshOf(program);
    FailureOr<CostModel> cost = costsOn(machine, mesh, threads, program);
    if (failed(cost))
      return failure();
    return OverlapSearch(*cost, memory, chunks, ownProducts)
        .run(program, getChildAnalysis<PlanAnalysis>(program).plan);
  }
};

} // namespace
