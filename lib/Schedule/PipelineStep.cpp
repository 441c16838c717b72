#include "tpsp/Schedule/PipelineStep.h"

#include "ChunkSlots.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

using namespace tpsp;
using Work = PipelineWork;

namespace {

/// The commands of a step, by their stages and by their ends.
class SortedCommands {
public:
  SortedCommands(const PipelineProblem &problem,
                 const PipelineSchedule &schedule)
      : problem(problem), computing(problem.stages), sending(problem.stages),
        receiving(problem.stages),
        ends(numberOf(Work(int(Work::SendBackward) + 1), 0, 0)) {
    for (const PipelineCommand &command : schedule.commands) {
      ends[numberOf(command.work, command.chunk, command.part)] = command.end;
      int64_t stage = problem.stageOf(command.chunk);
      (command.isSend() ? sending : computing)[stage].push_back(&command);
      int64_t next = command.work == Work::SendForward ? 1 : -1;
      if (command.isSend())
        receiving[problem.stageOf(command.chunk + next)].push_back(&command);
    }
  }

  double endOf(Work work, int64_t chunk, int64_t part) const {
    return ends[numberOf(work, chunk, part)];
  }
  double startOf(Work work, int64_t chunk, int64_t part) const {
    return endOf(work, chunk, part) - problem.secondsOf(work, chunk, part);
  }

private:
  size_t numberOf(Work work, int64_t chunk, int64_t part) const {
    return size_t((int64_t(work) * int64_t(problem.chunks.size()) + chunk) *
                      problem.parts +
                  part);
  }

  const PipelineProblem &problem;

public:
  using Commands = std::vector<std::vector<const PipelineCommand *>>;
  /// Each has the commands of every stage. `receiving` has other stages' sends
  /// to it.
  Commands computing, sending, receiving;

private:
  std::vector<double> ends;
};

/// Counts the bytes of each stage.
class StageMemory {
public:
  StageMemory(const PipelineRequest &request, const SortedCommands &commands,
              const ChunkSlots &slots, PipelineStep &result)
      : request(request), commands(commands), slots(slots), result(result) {}

  void measure(int64_t stage) {
    measureLasting(stage);
    measureMemory(stage);
  }

private:
  const PipelineProblem &problem() const { return result.problem; }

  /// Counts lasting bytes of a stage. Arguments that two of its chunks share
  /// count once.
  void measureLasting(int64_t stage) {
    StageUse &use = result.stages[stage];
    std::set<int64_t> seen;
    for (int64_t chunk : problem().chunksOf(stage)) {
      const PipelineChunk &of = request.chunks[chunk];
      std::set<int64_t> shared;
      auto add = [&](const std::map<int64_t, int64_t> &bytes, int64_t &to) {
        for (auto [own, size] : bytes) {
          int64_t argument = own < 0 ? -1 : of.arguments[own];
          if (argument >= 0 && seen.count(argument))
            continue;
          shared.insert(argument);
          to += size;
        }
      };
      add(of.work.parameters, use.parameters);
      add(of.work.gradients, use.gradients);
      add(of.work.state, use.state);
      use.inputs += of.work.inputs * request.parts + of.work.outputs;
      shared.erase(-1);
      seen.insert(shared.begin(), shared.end());
    }
  }

  void measureMemory(int64_t stage) {
    StageUse &use = result.stages[stage];
    std::vector<TraceSample> all, saved;
    for (const auto *own : {&commands.computing, &commands.sending})
      for (const PipelineCommand *command : (*own)[stage])
        addOwn(*command, all, saved);
    for (const PipelineCommand *command : commands.receiving[stage])
      addReceived(*command, all);
    double lasting =
        double(use.parameters + use.gradients + use.state + use.inputs);
    all.push_back({0, lasting});
    use.memory = samplesOf(std::move(all));
    for (const TraceSample &sample : use.memory)
      use.peak = std::max(use.peak, int64_t(sample.value));
    for (const TraceSample &sample : samplesOf(std::move(saved)))
      use.saved = std::max(use.saved, int64_t(sample.value));
    use.peak = std::max(use.peak, int64_t(lasting) + slots.bytesOf(stage));
  }

  /// A tensor that a chunk hands on within its stage lives from the end of its
  /// command to the beginning of the reader's.
  void addHandedOn(const PipelineCommand &command, int64_t bytes,
                   std::vector<TraceSample> &all) {
    int64_t reader = command.chunk + (command.work == Work::Forward ? 1 : -1);
    double taken = commands.startOf(command.work, reader, command.part);
    all.push_back({command.end, double(bytes)});
    all.push_back({std::max(taken, command.end), -double(bytes)});
  }

  void addOwn(const PipelineCommand &command, std::vector<TraceSample> &all,
              std::vector<TraceSample> &saved) {
    const ChunkWork &work = request.chunks[command.chunk].work;
    int64_t sentForward = result.sentForward[command.chunk],
            sentBackward = result.sentBackward[command.chunk];
    bool isLast = command.chunk + 1 == int64_t(request.chunks.size());
    auto change = [&](int64_t atStart, int64_t atEnd) {
      all.push_back({command.start, double(atStart)});
      all.push_back({command.end, double(atEnd)});
    };
    int64_t kept = problem().hasBackward ? work.saved : 0;
    switch (command.work) {
    case Work::Forward:
      change(work.peakForward, kept + sentForward - work.peakForward);
      if (!isLast && !problem().sendsForward(command.chunk))
        addHandedOn(command, work.sentForward, all);
      saved.push_back({command.end, double(kept)});
      break;
    case Work::SendForward:
      change(0, -sentForward);
      break;
    case Work::Backward: {
      int64_t peak =
          problem().splitsWeights ? work.peakInput : work.peakBackward;
      int64_t held = problem().splitsWeights ? work.heldForWeights : 0;
      change(peak - kept, held + sentBackward - peak);
      if (command.chunk > 0 && !problem().sendsBackward(command.chunk))
        addHandedOn(command, work.sentBackward, all);
      saved.push_back({command.end, double(held - kept)});
      break;
    }
    case Work::SendBackward:
      change(0, -sentBackward);
      break;
    case Work::Weights:
      change(work.peakWeights - work.heldForWeights, -work.peakWeights);
      saved.push_back({command.end, -double(work.heldForWeights)});
      break;
    }
  }

  /// Adds a received tensor's bytes, from the beginning of the send to the
  /// command that uses the tensor.
  void addReceived(const PipelineCommand &command,
                   std::vector<TraceSample> &all) {
    bool isForward = command.work == Work::SendForward;
    int64_t chunk = command.chunk + (isForward ? 1 : -1);
    const ChunkWork &from = request.chunks[command.chunk].work;
    int64_t bytes = isForward ? from.sentForward : from.sentBackward;
    Work user = isForward ? Work::Forward : Work::Backward;
    double taken = commands.startOf(user, chunk, command.part);
    all.push_back({command.start, double(bytes)});
    all.push_back({std::max(taken, command.end), -double(bytes)});
  }

  const PipelineRequest &request;
  const SortedCommands &commands;
  const ChunkSlots &slots;
  PipelineStep &result;
};

class Step {
public:
  Step(const PipelineRequest &request, const StageSchedule &schedule,
       const CostModel &cost)
      : request(request), choice(schedule), cost(cost) {}

  llvm::Expected<PipelineStep> run() {
    describe();
    if (std::optional<std::string> wrong = problem().check())
      return llvm::createStringError(*wrong);
    llvm::Expected<PipelineSchedule> schedule = choice.of(problem());
    if (!schedule)
      return schedule.takeError();
    result.schedule = std::move(*schedule);
    result.stages.resize(problem().stages);
    commands.emplace(problem(), result.schedule);
    findTied();
    ChunkSlots slots(request, problem(), result.schedule);
    StageMemory memory(request, *commands, slots, result);
    for (int64_t stage = 0; stage < problem().stages; ++stage) {
      measureTime(stage);
      memory.measure(stage);
    }
    update();
    return std::move(result);
  }

private:
  PipelineProblem &problem() { return result.problem; }
  int64_t stages() const { return cost.ranks().size(request.stageAxis); }

  double sendSeconds(int64_t bytes) const {
    if (bytes == 0 || stages() == 1)
      return 0;
    return cost.collectiveSeconds(CollectiveKind::Permute, double(bytes),
                                  llvm::ArrayRef<AxisId>(request.stageAxis));
  }

  void describe() {
    problem().stages = stages();
    problem().chunksPerStage = int64_t(request.chunks.size()) / stages();
    problem().parts = request.parts;
    problem().isFolded = choice.isFolded;
    problem().hasBackward = request.hasBackward;
    problem().chunks.resize(request.chunks.size());
    for (int64_t chunk = 0; chunk < int64_t(request.chunks.size()); ++chunk) {
      const ChunkWork &work = request.chunks[chunk].work;
      result.sentForward.push_back(
          problem().sendsForward(chunk) ? work.sentForward : 0);
      result.sentBackward.push_back(
          problem().sendsBackward(chunk) ? work.sentBackward : 0);
      problem().chunks[chunk] = {work.forward,
                                 work.backward,
                                 work.input,
                                 work.weights,
                                 sendSeconds(result.sentForward.back()),
                                 sendSeconds(result.sentBackward.back()),
                                 work.reducing};
      result.flops += work.flops * double(request.parts);
    }
    apply(choice.policy, request.units, problem());
    if (request.hidesReductions && request.parts > 1 && choice.endsWithLast())
      hideReductions();
    else
      for (const PipelineChunk &chunk : request.chunks)
        exposed.push_back(chunk.work.reductions);
  }

  /// Lets reductions run under the last commands of the last micro-batch. These
  /// take longer if they are shorter than the reductions.
  void hideReductions() {
    bool isEach = problem().splitsWeights;
    std::vector<double> hidden(request.chunks.size());
    for (size_t chunk = 0; chunk < request.chunks.size(); ++chunk) {
      double seconds = request.chunks[chunk].work.reductions;
      bool isOfFirst =
          problem().stageOf(int64_t(chunk)) == problem().stageOf(0);
      exposed.push_back(isEach || isOfFirst ? 0 : seconds);
      if (isEach || isOfFirst)
        hidden[isEach ? chunk : 0] += seconds;
    }
    for (size_t chunk = 0; chunk < hidden.size(); ++chunk) {
      PipelineProblem::Chunk &of = problem().chunks[chunk];
      double under = isEach ? of.weights : of.backward;
      of.reducing = std::max(0.0, hidden[chunk] - under);
    }
  }

  //===--------------------------------------------------------------------===//
  // Time
  //===--------------------------------------------------------------------===//

  /// The moment at which a command's input from another stage was computed,
  /// whether or not it had arrived; 0 if it has none.
  double computedBefore(const PipelineCommand &command) const {
    bool isForward = command.work == Work::Forward;
    int64_t before = command.chunk + (isForward ? -1 : 1);
    bool isThere = before >= 0 && before < int64_t(request.chunks.size()) &&
                   command.work != Work::Weights;
    return isThere ? commands->endOf(command.work, before, command.part) : 0;
  }

  void measureTime(int64_t stage) {
    StageUse &use = result.stages[stage];
    use.units = result.schedule.saved[stage];
    double last = 0;
    for (const PipelineCommand *command : commands->computing[stage]) {
      double ready = std::max(last, computedBefore(*command));
      if (command->work != Work::Weights)
        use.waitingForSends += std::max(0.0, command->start - ready);
      use.computing += command->end - command->start;
      last = command->end;
    }
    use.computed = last;
    double all = result.schedule.seconds;
    use.bubble = all > 0 ? 1 - use.computing / all : 0;
    result.bubble += use.bubble / double(problem().stages);
  }

  //===--------------------------------------------------------------------===//
  // Once a step
  //===--------------------------------------------------------------------===//

  /// Finds the parameters that several stages have.
  void findTied() {
    std::map<int64_t, TiedParameter> all;
    for (size_t chunk = 0; chunk < request.chunks.size(); ++chunk) {
      const PipelineChunk &of = request.chunks[chunk];
      for (auto [own, bytes] : of.work.gradients) {
        if (own < 0)
          continue; // added layers, which belong to one stage
        TiedParameter &tied = all[of.arguments[own]];
        tied.argument = of.arguments[own];
        tied.bytes = std::max(tied.bytes, bytes);
        int64_t stage = problem().stageOf(int64_t(chunk));
        if (std::find(tied.stages.begin(), tied.stages.end(), stage) ==
            tied.stages.end())
          tied.stages.push_back(stage);
      }
    }
    for (auto &[argument, tied] : all)
      if (tied.stages.size() > 1) {
        tied.seconds = reduceSeconds(tied.stages.size(), tied.bytes);
        tied.bytesSent = int64_t(
            double(tied.bytes) *
            busFactor(CollectiveKind::AllReduce, int64_t(tied.stages.size())));
        result.tied.push_back(std::move(tied));
      }
  }

  /// Seconds of an all_reduce over `group` stages.
  double reduceSeconds(size_t group, int64_t bytes) const {
    GroupPlace place = cost.placeOf(request.stageAxis);
    place.nodes = std::min<int64_t>(place.nodes, int64_t(group));
    place.perNode = (int64_t(group) + place.nodes - 1) / place.nodes;
    place.group = int64_t(group);
    return cost.collectiveSeconds(CollectiveKind::AllReduce, double(bytes),
                                  place);
  }

  /// Adds the work after the last micro-batch.
  void update() {
    for (size_t chunk = 0; chunk < request.chunks.size(); ++chunk) {
      StageUse &use = result.stages[problem().stageOf(int64_t(chunk))];
      const ChunkWork &work = request.chunks[chunk].work;
      use.reductions += exposed[chunk];
      use.update += work.update - work.reductions + exposed[chunk];
    }
    for (StageUse &use : result.stages)
      use.ended = use.computed + use.reductions;
    for (const TiedParameter &tied : result.tied)
      meet(tied.stages, tied.seconds);
    if (request.clips && stages() > 1) {
      std::vector<int64_t> all;
      for (int64_t stage = 0; stage < stages(); ++stage)
        all.push_back(stage);
      meet(all, reduceSeconds(all.size(), sizeof(double)));
    }
    for (StageUse &use : result.stages) {
      use.ended += use.update - use.reductions;
      result.seconds = std::max(result.seconds, use.ended);
    }
    result.seconds += cost.stepSeconds();
  }

  /// Adds `seconds` of common work of several stages, which begins when the
  /// last of them is free.
  void meet(const std::vector<int64_t> &group, double seconds) {
    double begin = 0;
    for (int64_t stage : group)
      begin = std::max(begin, result.stages[stage].ended);
    for (int64_t stage : group)
      result.stages[stage].ended = begin + seconds;
  }

  const PipelineRequest &request;
  const StageSchedule &choice;
  const CostModel &cost;
  PipelineStep result;
  std::optional<SortedCommands> commands;
  /// For each chunk, the seconds of reductions after the micro-batches.
  std::vector<double> exposed;
};

} // namespace

llvm::Expected<PipelineStep>
tpsp::simulatePipeline(const PipelineRequest &request,
                       const StageSchedule &schedule, const CostModel &cost) {
  return Step(request, schedule, cost).run();
}
