#include "tpsp/Schedule/Exposure.h"

#include "tpsp/Schedule/HappensBefore.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;

namespace {

class ExposureFinder {
public:
  ExposureFinder(const Step &step, const SimulatedStep &simulated)
      : step(step), simulated(simulated), after(dependencesOf(step)),
        previous(step.commands.size(), -1), waits(step.commands.size()),
        waiter(step.commands.size(), -1) {
    followStreams();
    for (size_t i = 0; i < step.commands.size(); ++i)
      if (step.commands[i].stream == 0)
        for (int64_t earlier : after[i])
          if (waiter[earlier] < 0)
            waiter[earlier] = i;
  }

  std::vector<Exposure> run() {
    std::vector<Exposure> result;
    llvm::DenseMap<int64_t, size_t> rowOf;
    for (size_t i = 0; i < step.commands.size(); ++i) {
      const StepCommand &command = step.commands[i];
      if (command.kind != StepKind::Collective || command.collective.group == 1)
        continue;
      Exposure piece = exposureOf(i);
      if (command.collective.whole < 0) {
        result.push_back(piece);
        continue;
      }
      auto [row, isNew] =
          rowOf.try_emplace(command.collective.whole, result.size());
      if (isNew)
        result.push_back(piece);
      else
        merge(result[row->second], piece);
    }
    llvm::stable_sort(result, [](const Exposure &a, const Exposure &b) {
      return a.exposedSeconds > b.exposedSeconds;
    });
    return result;
  }

private:
  /// For each command, the one before it on its stream, and what is waited for
  /// in between.
  void followStreams() {
    std::vector<int64_t> latest(step.numStreams, -1);
    std::vector<std::vector<int64_t>> waiting(step.numStreams);
    std::vector<int64_t> recorded(step.numEvents, -1);
    for (auto [i, command] : llvm::enumerate(step.commands)) {
      int64_t stream = command.stream;
      if (command.kind == StepKind::EventRecord) {
        recorded[command.event] = latest[stream];
      } else if (command.kind == StepKind::EventWait) {
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

  Exposure exposureOf(int64_t number) const {
    const SimulatedCommand &times = simulated.commands[number];
    Exposure result;
    result.command = number;
    result.seconds = times.seconds();
    result.exposedSeconds = times.exposed;
    result.waiter = waiter[number];
    double latest = 0;
    auto consider = [&](int64_t blocker, ExposureCause cause) {
      double end = simulated.commands[blocker].end;
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

  static void merge(Exposure &whole, const Exposure &piece) {
    double seconds = whole.seconds + piece.seconds;
    double exposed = whole.exposedSeconds + piece.exposedSeconds;
    int64_t waiter = whole.waiter < 0 ? piece.waiter : whole.waiter;
    if (piece.exposedSeconds > whole.exposedSeconds)
      whole = piece;
    whole.seconds = seconds;
    whole.exposedSeconds = exposed;
    whole.waiter = waiter;
  }

  const Step &step;
  const SimulatedStep &simulated;
  const std::vector<std::vector<int64_t>> after;
  std::vector<int64_t> previous;
  std::vector<std::vector<int64_t>> waits;
  std::vector<int64_t> waiter;
};

} // namespace

std::vector<Exposure> tpsp::exposuresOf(const Step &step,
                                        const SimulatedStep &simulated) {
  return ExposureFinder(step, simulated).run();
}
