// tpsp-overlap: collectives on streams of their own, under computation.
#include "CollectiveCuts.h"
#include "tpsp/Passes/Passes.h"
#include "tpsp/Passes/Plan/PlanOfProgram.h"

#include "tpsp/Schedule/OverlapSchedulers.h"
#include "tpsp/Schedule/Simulator.h"
#include "tpsp/Schedule/StepOverlap.h"
#include "tpsp/Schedule/StreamIssue.h"

#include "tpsp/Dialect/Tpsp/ErrorPlace.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"

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

static SmallVector<Operation *> commandsOf(plan::ProgramOp program) {
  SmallVector<Operation *> commands;
  for (Operation &op : program.getBody().front())
    if (isa<plan::CommandOpInterface>(op))
      commands.push_back(&op);
  return commands;
}

/// Puts the program's commands into the order of `items`, with their events.
static void rewrite(plan::ProgramOp program, ArrayRef<IssueItem> items,
                    const Plan &scheduled) {
  Block &body = program.getBody().front();
  SmallVector<Operation *> commands = commandsOf(program);
  OpBuilder b(program.getContext());
  // What is left in front: buffers, views, tiles.
  for (const IssueItem &item : items) {
    b.setInsertionPointToEnd(&body);
    if (item.kind == IssueItem::Run) {
      Operation *command = commands[item.number];
      command->moveBefore(&body, body.end());
      command->setAttr("stream", b.getI64IntegerAttr(item.stream));
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
};

/// Finds the best schedule of one program, cutting what stays exposed.
class OverlapSearch {
public:
  /// `buffers`, `chunks` and `share` are the pass's options.
  OverlapSearch(const CostModel &cost, int64_t buffers, int64_t chunks,
                double share)
      : cost(cost), askedBuffers(buffers), chunks(chunks), share(share) {}

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
    for (const LedgerRow &row : plan.ledger)
      wholes = std::max(wholes, row.whole + 1);
    FailureOr<Candidate> best = searchBuffers(plan);
    if (failed(best))
      return failure();
    if (best->simulated.seconds >= serial->seconds && chunks < 2) {
      explainNone(best->program, best->simulated, *serial);
      if (best->program != program)
        best->program.erase();
      return success();
    }
    if (best->program != program)
      program.erase();
    explain(best->program, best->simulated, *serial);
    rewrite(best->program, best->items, best->scheduled);
    return success();
  }

private:
  /// The best schedule over the amounts of memory that communication may take.
  /// More is taken if it saves enough of the time for what it adds to the
  /// memory. Else a step that is all communication would gather everything at
  /// its beginning.
  FailureOr<Candidate> searchBuffers(const Plan &plan) {
    SmallVector<int64_t> counts = {2, 3, 4, 8};
    if (askedBuffers > 0)
      counts = {askedBuffers};
    std::optional<Candidate> best;
    for (int64_t count : counts) {
      buffers = count;
      FailureOr<Candidate> next = schedule(original, plan);
      if (failed(next) || failed(improveByCuts(*next)))
        return failure();
      if (best && !isBetter(*next, *best)) {
        drop(*next);
        continue;
      }
      if (best)
        drop(*best);
      best = std::move(*next);
    }
    return std::move(*best);
  }

  /// What hides as much as is required comes before what does not.
  bool isBetter(const Candidate &a, const Candidate &b) const {
    bool aKeeps = a.simulated.exposure.hiddenShare() >= share;
    bool bKeeps = b.simulated.exposure.hiddenShare() >= share;
    return aKeeps != bKeeps ? aKeeps : price(a) < price(b);
  }

  /// A device is paid for by its time; its memory matters only when there is no
  /// more. So one per cent of the time is worth three per cent of the memory.
  static double price(const Candidate &candidate) {
    double seconds = candidate.simulated.seconds;
    return seconds * seconds * seconds *
           std::max<double>(candidate.simulated.memory.peakBytes, 1);
  }

  void drop(Candidate &candidate) {
    if (candidate.program != original)
      candidate.program.erase();
  }

  FailureOr<Candidate> schedule(plan::ProgramOp program, Plan plan) {
    Candidate result;
    result.program = program;
    result.plan = std::move(plan);
    OverlapProblem problem = overlapProblemOf(result.plan, cost, buffers);
    if (std::optional<std::string> wrong = problem.check())
      return emitErrorAt(program) << "cannot be scheduled: " << *wrong;
    OverlapSchedule found = scheduleList(problem);
    if (std::optional<std::string> wrong = verify(problem, found))
      return emitErrorAt(program) << "was scheduled wrongly: " << *wrong;
    result.items = issueOf(problem, found);
    result.scheduled = reordered(result.plan, result.items, problem.numStreams);
    llvm::Expected<SimulatedStep> simulated = simulate(result.scheduled, cost);
    if (!simulated)
      return emitErrorAt(program) << llvm::toString(simulated.takeError());
    result.simulated = std::move(*simulated);
    return result;
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
      FailureOr<bool> isBetter = tryCuts(best, Cuts::Exposed, false);
      if (failed(isBetter))
        return failure();
      if (!*isBetter)
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
    if (!keepAnyway && next->simulated.seconds >= best->simulated.seconds) {
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

  void explainNone(plan::ProgramOp program, const SimulatedStep &found,
                   const SimulatedStep &serial) {
    remark::missed(program.getLoc(),
                   remark::RemarkOpts::name("overlap").category("tpsp-overlap"))
        << remark::reason("no schedule with communication under computation is "
                          "faster: {0} against {1} one after another",
                          milliseconds(found.seconds),
                          milliseconds(serial.seconds));
  }

  void explain(plan::ProgramOp program, const SimulatedStep &found,
               const SimulatedStep &serial) {
    remark::passed(program.getLoc(),
                   remark::RemarkOpts::name("overlap").category("tpsp-overlap"))
        << remark::reason(
               "a step takes {0} instead of {1}; {2} of {3} of communication "
               "are exposed",
               milliseconds(found.seconds), milliseconds(serial.seconds),
               milliseconds(found.exposure.exposed),
               milliseconds(found.exposure.communication));
  }

  const CostModel &cost;
  const int64_t askedBuffers, chunks;
  const double share;
  int64_t buffers = 0;
  /// The number of the next collective that is cut.
  int64_t wholes = 0;
  plan::ProgramOp original;
};

struct Overlap : public tpsp::impl::OverlapBase<Overlap> {
  using Base::Base;

  void runOnOperation() override {
    llvm::Expected<const Hardware &> machine = hardware.read();
    if (!machine) {
      emitOptionError(getOperation(), getArgument(), "hardware")
          << llvm::toString(machine.takeError());
      return signalPassFailure();
    }
    for (auto program :
         llvm::to_vector(getOperation().getOps<plan::ProgramOp>()))
      if (failed(schedule(program, *machine)))
        return signalPassFailure();
  }

  LogicalResult schedule(plan::ProgramOp program, const Hardware &machine) {
    Mesh mesh = meshOf(program);
    if (std::string misfit = misfitOf(machine, mesh); !misfit.empty())
      return emitErrorAt(program) << misfit;
    CostModel cost(machine, mesh, threads);
    return OverlapSearch(cost, buffers, chunks, share)
        .run(program, getChildAnalysis<PlanAnalysis>(program).plan);
  }
};

} // namespace
