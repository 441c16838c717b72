// Runs the actions of all stages in their given order.
#include "tpsp/Schedule/StageActions.h"

#include "llvm/ADT/StringExtras.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

using namespace tpsp;
using Work = PipelineWork;

namespace {

bool isTransfer(const StageAction &action) {
  return action.work == Work::SendForward || action.work == Work::SendBackward;
}

/// Whether a chunk's stage sends its result, or its gradient, to another.
bool isSentBy(const PipelineProblem &problem, Work send, int64_t chunk) {
  return send == Work::SendForward
             ? problem.sendsForward(chunk)
             : problem.hasBackward && problem.sendsBackward(chunk);
}

/// A command: its work, chunk and micro-batch.
using Key = std::tuple<Work, int64_t, int64_t>;

Key keyOf(const StageAction &action) {
  return {action.work, action.chunk, action.part};
}

template <typename... Arguments>
llvm::Error failIn(const StageActions &actions,
                   fmt::format_string<Arguments...> text,
                   Arguments &&...arguments) {
  return llvm::createStringError(
      actions.file + ": " +
      fmt::format(text, std::forward<Arguments>(arguments)...));
}

std::string placeOf(int64_t stage, const StageAction &action) {
  return fmt::format("row {}, cell {}, {}", stage + 1, action.cell,
                     textOf(action, action.isInput));
}

/// Finds actions that are not those of the problem, and missing ones.
class ActionChecker {
public:
  ActionChecker(const PipelineProblem &problem, const StageActions &actions)
      : problem(problem), actions(actions) {}

  llvm::Error check() {
    auto rows = int64_t(actions.stages.size());
    if (rows != problem.stages)
      return failIn(
          actions, "has {} rows, and there are {} stages; write a row for each",
          rows, problem.stages);
    std::map<std::pair<Key, bool>, int64_t> seen;
    for (int64_t stage = 0; stage < rows; ++stage)
      for (const StageAction &action : actions.stages[stage]) {
        if (llvm::Error error = check(stage, action))
          return error;
        bool isSecond = seen[{keyOf(action), action.isReceive}]++ > 0;
        // A whole backward pass is both of its parts.
        if (actions.splitsWeights && action.work == Work::Backward &&
            !action.isInput)
          isSecond |=
              seen[{{Work::Weights, action.chunk, action.part}, false}]++ > 0;
        if (isSecond)
          return failIn(actions, "{} comes twice", placeOf(stage, action));
      }
    return checkMissing(seen);
  }

private:
  llvm::Error check(int64_t stage, const StageAction &action) {
    auto chunks = int64_t(problem.chunks.size());
    // A receive names the chunk that sends; its own is the one that gets it.
    int64_t next = action.work == Work::SendForward ? 1 : -1;
    int64_t own = action.chunk + (action.isReceive ? next : 0);
    int64_t other = action.chunk + (isTransfer(action) ? next : 0);
    if (own < 0 || own >= chunks || other < 0 || other >= chunks ||
        action.chunk < 0 || action.chunk >= chunks)
      return failIn(actions,
                    "{}: there are {} chunks, 0 to {}; --stage-chunks says how "
                    "many a stage has",
                    placeOf(stage, action), chunks, chunks - 1);
    if (action.part < 0 || action.part >= problem.parts)
      return failIn(actions,
                    "{}: there are {} micro-batches, from 0 on; give "
                    "--micro-batches {}",
                    placeOf(stage, action), problem.parts, action.part + 1);
    if (problem.stageOf(own) != stage)
      return failIn(
          actions, "{}: chunk {} is on stage {}, because {}",
          placeOf(stage, action), own, problem.stageOf(own),
          problem.isFolded
              ? "the chunks go to the last stage and back; without "
                "--stage-placement folded they do not go back"
              : fmt::format("chunk c is on stage c mod {}; if chunks go to the "
                            "last stage and back, give --stage-placement "
                            "folded",
                            problem.stages));
    if (isTransfer(action) &&
        problem.stageOf(action.chunk) == problem.stageOf(other))
      return failIn(actions,
                    "{}: chunks {} and {} are both on stage {}, which sends "
                    "nothing to itself",
                    placeOf(stage, action), std::min(action.chunk, other),
                    std::max(action.chunk, other), stage);
    if (!problem.hasBackward &&
        (action.work == Work::Backward || action.work == Work::Weights))
      return failIn(actions,
                    "{}: the program has no backward pass without --grad",
                    placeOf(stage, action));
    return llvm::Error::success();
  }

  llvm::Error
  checkMissing(const std::map<std::pair<Key, bool>, int64_t> &seen) const {
    std::vector<Work> wanted = {Work::Forward};
    if (problem.hasBackward)
      wanted.push_back(Work::Backward);
    if (problem.hasBackward && actions.splitsWeights)
      wanted.push_back(Work::Weights);
    auto chunks = int64_t(problem.chunks.size());
    for (int64_t chunk = 0; chunk < chunks; ++chunk)
      for (int64_t part = 0; part < problem.parts; ++part) {
        for (Work work : wanted)
          if (!seen.count({{work, chunk, part}, false}))
            return missing(work, chunk, part);
        for (Work work : {Work::SendForward, Work::SendBackward}) {
          bool isSent = actions.hasTransfers && isSentBy(problem, work, chunk);
          for (bool isReceive : {false, true})
            if (isSent && !seen.count({{work, chunk, part}, isReceive}))
              return missing(work, chunk, part, isReceive);
        }
      }
    return llvm::Error::success();
  }

  llvm::Error missing(Work work, int64_t chunk, int64_t part,
                      bool isReceive = false) const {
    StageAction action{work, chunk, part, isReceive};
    int64_t next = work == Work::SendForward ? 1 : -1;
    int64_t own = chunk + (isReceive ? next : 0);
    bool isGradient = work == Work::Backward || work == Work::Weights;
    return failIn(actions, "row {} lacks {}{}", problem.stageOf(own) + 1,
                  textOf(action, actions.splitsWeights),
                  isGradient ? fmt::format(": the gradients of micro-batch {} "
                                           "would be lost",
                                           part)
                             : "");
  }

  const PipelineProblem &problem;
  const StageActions &actions;
};

/// Runs the actions of all stages.
class ActionRunner {
public:
  ActionRunner(const PipelineProblem &problem, const StageActions &actions)
      : problem(problem), actions(actions) {}

  llvm::Expected<PipelineSchedule> run() {
    if (llvm::Error error = ActionChecker(problem, actions).check())
      return std::move(error);
    divide();
    while (step()) {
    }
    if (llvm::Error error = checkEnd())
      return std::move(error);
    std::stable_sort(result.commands.begin(), result.commands.end(),
                     [](const PipelineCommand &a, const PipelineCommand &b) {
                       return a.start < b.start;
                     });
    return std::move(result);
  }

private:
  /// The actions of one kind of a stage, of which each waits for the one
  /// before.
  struct Lane {
    std::vector<StageAction> actions;
    size_t next = 0;
    /// The moments at which actions that compute ended.
    std::vector<double> ends;
    /// For each transfer, how many actions of the row compute before it.
    std::vector<size_t> after;

    double free() const { return ends.empty() ? 0 : ends.back(); }

    const StageAction *front() const {
      return next < actions.size() ? &actions[next] : nullptr;
    }
  };

  //===--------------------------------------------------------------------===//
  // Running them
  //===--------------------------------------------------------------------===//

  /// Divides each stage's actions into lanes. A whole backward pass becomes
  /// both of its parts where these are commands of their own.
  void divide() {
    for (const std::vector<StageAction> &row : actions.stages) {
      Lane &lane = lanes.emplace_back();
      auto &own = moves.emplace_back();
      for (const StageAction &action : row) {
        if (isTransfer(action)) {
          Lane &moved = own[{action.work, action.isReceive}];
          moved.actions.push_back(action);
          moved.after.push_back(lane.actions.size());
          continue;
        }
        lane.actions.push_back(action);
        if (!problem.splitsWeights || action.work != Work::Backward ||
            action.isInput)
          continue;
        lane.actions.push_back(action);
        lane.actions.back().work = Work::Weights;
      }
    }
    sendFree.assign(problem.stages, 0);
    units.assign(problem.stages, 0);
    result.saved.assign(problem.stages, 0);
  }

  /// Starts all that may start. Returns whether anything did.
  bool step() {
    bool hasMoved = false;
    for (int64_t stage = 0; stage < problem.stages; ++stage) {
      while (startComputing(stage))
        hasMoved = true;
      for (Work work : {Work::SendForward, Work::SendBackward})
        while (startTransfer(stage, work))
          hasMoved = true;
    }
    return hasMoved && !overflow;
  }

  /// The moment at which a command ended; nullopt if it did not.
  std::optional<double> endOf(const PipelineCommand &command) const {
    auto found = ends.find({command.work, command.chunk, command.part});
    return found == ends.end() ? std::nullopt : std::optional(found->second);
  }

  /// The commands that an action needs to have ended.
  std::vector<PipelineCommand> neededFor(const StageAction &action) const {
    return readsOf(problem, {action.work, action.chunk, action.part});
  }

  /// The moment from which an action's inputs are there; nullopt if they are
  /// not.
  std::optional<double> readyAt(const StageAction &action) const {
    double ready = 0;
    for (const PipelineCommand &needed : neededFor(action)) {
      std::optional<double> end = endOf(needed);
      if (!end)
        return std::nullopt;
      ready = std::max(ready, *end);
    }
    return ready;
  }

  void add(const StageAction &action, double start, double seconds) {
    double end = start + seconds;
    ends[keyOf(action)] = end;
    result.commands.push_back(
        {action.work, action.chunk, action.part, start, end});
    result.seconds = std::max(result.seconds, end);
  }

  bool startComputing(int64_t stage) {
    Lane &lane = lanes[stage];
    const StageAction *action = lane.front();
    std::optional<double> ready =
        action ? readyAt(*action) : std::optional<double>();
    if (!ready || overflow)
      return false;
    if (!count(stage, *action))
      return false;
    double start = std::max(*ready, lane.free());
    add(*action, start,
        problem.secondsOf(action->work, action->chunk, action->part));
    lane.ends.push_back(result.commands.back().end);
    ++lane.next;
    if (!actions.hasTransfers)
      sendResult(stage, *action);
    return true;
  }

  /// Counts the units that a stage has saved. Returns false beyond the bound.
  bool count(int64_t stage, const StageAction &action) {
    bool ends =
        action.work == (problem.splitsWeights ? Work::Weights : Work::Backward);
    bool begins = action.work == Work::Forward;
    if (begins && problem.hasBackward &&
        units[stage] + 1 > problem.bound[stage]) {
      overflow = {stage, action};
      return false;
    }
    units[stage] += begins && problem.hasBackward ? 1 : ends ? -1 : 0;
    result.saved[stage] = std::max(result.saved[stage], units[stage]);
    return true;
  }

  /// Without transfers in the file, a tensor is sent when it is made.
  void sendResult(int64_t stage, const StageAction &made) {
    if (made.work == Work::Weights)
      return;
    StageAction send = made;
    send.work =
        made.work == Work::Forward ? Work::SendForward : Work::SendBackward;
    if (!isSentBy(problem, send.work, made.chunk))
      return;
    double start = std::max(sendFree[stage], ends.at(keyOf(made)));
    add(send, start, secondsOfSend(send));
    sendFree[stage] = result.commands.back().end;
  }

  double secondsOfSend(const StageAction &send) const {
    return problem.secondsOf(send.work, send.chunk, send.part);
  }

  /// The moment from which it is a transfer's turn in its row; nullopt if it is
  /// not.
  std::optional<double> turnOf(int64_t stage, const Lane &lane) const {
    size_t after = lane.after[lane.next];
    const std::vector<double> &computed = lanes[stage].ends;
    if (after > computed.size())
      return std::nullopt;
    return after == 0 ? 0 : computed[after - 1];
  }

  /// Starts a transfer that is the next one on both sides.
  bool startTransfer(int64_t stage, Work work) {
    Lane &lane = moves[stage][{work, false}];
    const StageAction *action = lane.front();
    if (!action)
      return false;
    int64_t to = action->chunk + (work == Work::SendForward ? 1 : -1);
    Lane &other = moves[problem.stageOf(to)][{work, true}];
    const StageAction *receive = other.front();
    std::optional<double> ready = readyAt(*action);
    if (!ready || !receive || keyOf(*receive) != keyOf(*action))
      return false;
    std::optional<double> here = turnOf(stage, lane),
                          there = turnOf(problem.stageOf(to), other);
    if (!here || !there)
      return false;
    add(*action, std::max({*ready, *here, *there, sendFree[stage]}),
        secondsOfSend(*action));
    sendFree[stage] = result.commands.back().end;
    ++lane.next;
    ++other.next;
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Blame
  //===--------------------------------------------------------------------===//

  llvm::Error checkEnd() const {
    if (overflow)
      return failIn(
          actions,
          "{} would save {} units on stage {}, whose bound is {}; give "
          "--stage-bound a larger number, or 0 for none",
          placeOf(overflow->first, overflow->second),
          units[overflow->first] + 1, overflow->first,
          problem.bound[overflow->first]);
    std::vector<std::string> waiting;
    for (int64_t stage = 0; stage < problem.stages; ++stage) {
      for (const Lane *lane : lanesOf(stage))
        if (const StageAction *action = lane->front())
          waiting.push_back(fmt::format(
              "{} waits for {}", placeOf(stage, *action), reasonOf(*action)));
    }
    if (waiting.empty())
      return llvm::Error::success();
    constexpr size_t most = 4;
    size_t more = waiting.size() > most ? waiting.size() - most : 0;
    waiting.resize(waiting.size() - more);
    return failIn(actions, "the actions wait for each other: {}{}",
                  llvm::join(waiting, "; "),
                  more > 0 ? fmt::format("; and {} more", more) : "");
  }

  std::vector<const Lane *> lanesOf(int64_t stage) const {
    std::vector<const Lane *> all = {&lanes[stage]};
    for (const auto &[kind, lane] : moves[stage])
      all.push_back(&lane);
    return all;
  }

  /// The action for which an action waits that cannot start.
  std::string reasonOf(const StageAction &action) const {
    if (!action.isReceive)
      for (const PipelineCommand &needed : neededFor(action))
        if (!endOf(needed))
          return textOf({needed.work, needed.chunk, needed.part},
                        problem.splitsWeights);
    StageAction other = action;
    other.isReceive = !action.isReceive;
    return textOf(other, problem.splitsWeights);
  }

  const PipelineProblem &problem;
  const StageActions &actions;
  /// By stage: what computes, and what is sent and received forward and back.
  std::vector<Lane> lanes;
  std::vector<std::map<std::pair<Work, bool>, Lane>> moves;
  /// By stage: when its last send ends, and the units that it has saved.
  std::vector<double> sendFree;
  std::vector<int64_t> units;
  std::map<Key, double> ends;
  /// The stage and its action that exceeds the bound.
  std::optional<std::pair<int64_t, StageAction>> overflow;
  PipelineSchedule result;
};

} // namespace

llvm::Expected<PipelineSchedule>
tpsp::scheduleActions(const PipelineProblem &problem,
                      const StageActions &actions) {
  return ActionRunner(problem, actions).run();
}
