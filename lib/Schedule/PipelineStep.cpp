#include "tpsp/Schedule/PipelineStep.h"

#include "ChunkSlots.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

using namespace tpsp;
using Work = PipelineWork;

namespace {

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
    sortCommands();
    slots.emplace(request, problem(), result.schedule);
    findTied();
    for (int64_t stage = 0; stage < problem().stages; ++stage) {
      measureTime(stage);
      measureLasting(stage);
      measureMemory(stage);
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
    problem().hasBackward = request.hasBackward;
    for (const PipelineChunk &chunk : request.chunks) {
      const ChunkWork &work = chunk.work;
      problem().chunks.push_back({work.forward, work.backward, work.input,
                                  work.weights, sendSeconds(work.sentForward),
                                  sendSeconds(work.sentBackward)});
      result.sentForward.push_back(work.sentForward);
      result.sentBackward.push_back(work.sentBackward);
      result.flops += work.flops * double(request.parts);
    }
    apply(choice.policy, request.units, problem());
  }

  //===--------------------------------------------------------------------===//
  // Time
  //===--------------------------------------------------------------------===//

  size_t numberOf(Work work, int64_t chunk, int64_t part) const {
    return size_t((int64_t(work) * int64_t(request.chunks.size()) + chunk) *
                      request.parts +
                  part);
  }

  void sortCommands() {
    constexpr int kinds = int(Work::SendBackward) + 1;
    ends.assign(numberOf(Work(kinds), 0, 0), 0);
    computing.resize(problem().stages);
    sending.resize(problem().stages);
    receiving.resize(problem().stages);
    for (const PipelineCommand &command : result.schedule.commands) {
      ends[numberOf(command.work, command.chunk, command.part)] = command.end;
      int64_t stage = problem().stageOf(command.chunk);
      (command.isSend() ? sending : computing)[stage].push_back(&command);
      int64_t next = command.work == Work::SendForward ? 1 : -1;
      if (command.isSend())
        receiving[problem().stageOf(command.chunk + next)].push_back(&command);
    }
  }

  /// The moment at which a command's input from another stage was computed,
  /// whether or not it had arrived; 0 if it has none.
  double computedBefore(const PipelineCommand &command) const {
    bool isForward = command.work == Work::Forward;
    int64_t before = command.chunk + (isForward ? -1 : 1);
    bool isThere = before >= 0 && before < int64_t(request.chunks.size()) &&
                   command.work != Work::Weights;
    return isThere ? ends[numberOf(command.work, before, command.part)] : 0;
  }

  void measureTime(int64_t stage) {
    StageUse &use = result.stages[stage];
    use.units = result.schedule.saved[stage];
    double last = 0;
    for (const PipelineCommand *command : computing[stage]) {
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
    for (StageUse &use : result.stages)
      use.ended = use.computed;
    for (const TiedParameter &tied : result.tied)
      meet(tied.stages, tied.seconds);
    if (request.clips && stages() > 1) {
      std::vector<int64_t> all;
      for (int64_t stage = 0; stage < stages(); ++stage)
        all.push_back(stage);
      meet(all, reduceSeconds(all.size(), sizeof(double)));
    }
    for (size_t chunk = 0; chunk < request.chunks.size(); ++chunk) {
      StageUse &use = result.stages[problem().stageOf(int64_t(chunk))];
      use.update += request.chunks[chunk].work.update;
      use.ended += request.chunks[chunk].work.update;
    }
    for (const StageUse &use : result.stages)
      result.seconds = std::max(result.seconds, use.ended);
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

  //===--------------------------------------------------------------------===//
  // Memory
  //===--------------------------------------------------------------------===//

  /// Counts lasting bytes of a stage. Arguments that two of its chunks share
  /// count once.
  void measureLasting(int64_t stage) {
    StageUse &use = result.stages[stage];
    std::set<int64_t> seen;
    for (int64_t chunk = stage; chunk < int64_t(request.chunks.size());
         chunk += problem().stages) {
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
    for (const auto *own : {&computing, &sending})
      for (const PipelineCommand *command : (*own)[stage])
        addOwn(*command, all, saved);
    for (const PipelineCommand *command : receiving[stage])
      addReceived(*command, all);
    double lasting =
        double(use.parameters + use.gradients + use.state + use.inputs);
    all.push_back({0, lasting});
    use.memory = samplesOf(std::move(all));
    for (const TraceSample &sample : use.memory)
      use.peak = std::max(use.peak, int64_t(sample.value));
    for (const TraceSample &sample : samplesOf(std::move(saved)))
      use.saved = std::max(use.saved, int64_t(sample.value));
    use.peak = std::max(use.peak, int64_t(lasting) + slots->bytesOf(stage));
  }

  void addOwn(const PipelineCommand &command, std::vector<TraceSample> &all,
              std::vector<TraceSample> &saved) {
    const ChunkWork &work = request.chunks[command.chunk].work;
    bool sends = command.chunk + 1 < int64_t(request.chunks.size());
    auto change = [&](int64_t atStart, int64_t atEnd) {
      all.push_back({command.start, double(atStart)});
      all.push_back({command.end, double(atEnd)});
    };
    int64_t kept = problem().hasBackward ? work.saved : 0;
    switch (command.work) {
    case Work::Forward:
      change(work.peakForward,
             kept + (sends ? work.sentForward : 0) - work.peakForward);
      saved.push_back({command.end, double(kept)});
      break;
    case Work::SendForward:
      change(0, -work.sentForward);
      break;
    case Work::Backward: {
      int64_t peak =
          problem().splitsWeights ? work.peakInput : work.peakBackward;
      int64_t held = problem().splitsWeights ? work.heldForWeights : 0;
      change(peak - kept, held + work.sentBackward - peak);
      saved.push_back({command.end, double(held - kept)});
      break;
    }
    case Work::SendBackward:
      change(0, -work.sentBackward);
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
    double taken = ends[numberOf(user, chunk, command.part)] -
                   problem().secondsOf(user, chunk);
    all.push_back({command.start, double(bytes)});
    all.push_back({std::max(taken, command.end), -double(bytes)});
  }

  const PipelineRequest &request;
  const StageSchedule &choice;
  const CostModel &cost;
  PipelineStep result;
  std::optional<ChunkSlots> slots;
  /// The end of each command.
  std::vector<double> ends;
  /// Per stage, its commands. `receiving` has other stages' sends to it.
  std::vector<std::vector<const PipelineCommand *>> computing, sending,
      receiving;
};

} // namespace

llvm::Expected<PipelineStep>
tpsp::simulatePipeline(const PipelineRequest &request,
                       const StageSchedule &schedule, const CostModel &cost) {
  return Step(request, schedule, cost).run();
}
