#include "tpsp/Schedule/ExposureCause.h"

#include "tpsp/Schedule/HappensBefore.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;

namespace {

class ExposureFinder {
public:
  ExposureFinder(const Plan &plan, const SimulatedStep &simulated)
      : plan(plan), simulated(simulated), after(dependencesOf(plan)),
        previous(plan.commands.size(), -1), waits(plan.commands.size()),
        waiter(plan.commands.size(), -1), ends(plan.commands.size(), 0) {
    for (const TraceSpan &span : simulated.commands)
      ends[span.command] = span.end;
    followStreams();
    for (size_t i = 0; i < plan.commands.size(); ++i)
      if (plan.commands[i].stream == 0)
        for (int64_t earlier : after[i])
          if (waiter[earlier] < 0)
            waiter[earlier] = i;
  }

  std::vector<ExposedCollective> run() {
    std::vector<ExposedCollective> result;
    std::vector<size_t> placeOf(plan.ledger.size(), unseen);
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      const PlanCommand &command = plan.commands[i];
      if (!command.communicates())
        continue;
      ExposedCollective piece = exposed(i);
      int64_t row = command.collective.row;
      if (row >= 0 && placeOf[row] != unseen) {
        merge(result[placeOf[row]], piece);
        continue;
      }
      if (row >= 0)
        placeOf[row] = result.size();
      result.push_back(piece);
    }
    llvm::stable_sort(
        result, [](const ExposedCollective &a, const ExposedCollective &b) {
          return a.times.exposed > b.times.exposed;
        });
    return result;
  }

private:
  static constexpr size_t unseen = -1;

  /// Finds, for each command, the previous command on its stream, and the
  /// events for which the stream waits in between.
  void followStreams() {
    std::vector<int64_t> latest(plan.numStreams, -1);
    std::vector<std::vector<int64_t>> waiting(plan.numStreams);
    std::vector<int64_t> recorded(plan.numEvents, -1);
    for (auto [i, command] : llvm::enumerate(plan.commands)) {
      int64_t stream = command.stream;
      if (command.kind == CommandKind::EventRecord) {
        recorded[command.event] = latest[stream];
      } else if (command.kind == CommandKind::EventWait) {
        if (recorded[command.event] >= 0)
          waiting[stream].push_back(recorded[command.event]);
      } else {
        previous[i] = latest[stream];
        waits[i] = std::move(waiting[stream]);
        waiting[stream].clear();
        latest[stream] = i;
      }
    }
  }

  ExposedCollective exposed(int64_t number) const {
    ExposedCollective result;
    result.command = number;
    result.times = simulated.exposure.commands[number];
    result.waiter = waiter[number];
    double latest = 0;
    auto consider = [&](int64_t blocker, ExposureCause cause) {
      double end = ends[blocker];
      if (result.blocker >= 0 && end <= latest)
        return;
      latest = end;
      result.blocker = blocker;
      result.cause = cause;
    };
    for (int64_t command : waits[number])
      consider(command, llvm::is_contained(after[number], command)
                            ? ExposureCause::Dependence
                            : ExposureCause::Buffer);
    if (previous[number] >= 0)
      consider(previous[number],
               llvm::is_contained(after[number], previous[number])
                   ? ExposureCause::Dependence
                   : ExposureCause::Bandwidth);
    return result;
  }

  static void merge(ExposedCollective &whole, const ExposedCollective &piece) {
    CollectiveExposure times = whole.times;
    times.seconds += piece.times.seconds;
    times.exposed += piece.times.exposed;
    int64_t waiter = whole.waiter < 0 ? piece.waiter : whole.waiter;
    if (piece.times.exposed > whole.times.exposed)
      whole = piece;
    whole.times = times;
    whole.waiter = waiter;
  }

  const Plan &plan;
  const SimulatedStep &simulated;
  const std::vector<std::vector<int64_t>> after;
  std::vector<int64_t> previous;
  std::vector<std::vector<int64_t>> waits;
  std::vector<int64_t> waiter;
  /// When each command ends for the last time.
  std::vector<double> ends;
};

} // namespace

std::vector<ExposedCollective>
tpsp::exposedCollectives(const Plan &plan, const SimulatedStep &simulated) {
  return ExposureFinder(plan, simulated).run();
}
