#include "tpsp/Schedule/StageOrder.h"

#include "tpsp/Schedule/IssueOrder.h"
#include "tpsp/Schedule/Simulator.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <map>

using namespace tpsp;

namespace {

class StageScheduler {
public:
  StageScheduler(const Plan &plan, const CostModel &cost,
                 const StageSchedule &schedule, int64_t units)
      : plan(plan), cost(cost), schedule(schedule), units(units) {}

  llvm::Expected<std::vector<std::vector<StepAction>>> run() {
    findSegments();
    auto measured = segmentSeconds(plan, cost);
    if (!measured)
      return measured.takeError();
    seconds = std::move(*measured);
    describe();
    if (std::optional<std::string> fault = problem.check())
      return llvm::createStringError(*fault);
    orders.resize(problem.stages);
    addOthers(/*isBefore=*/true);
    llvm::Expected<PipelineSchedule> scheduled = schedule.of(problem);
    if (!scheduled)
      return scheduled.takeError();
    for (const PipelineCommand &command : scheduled->commands)
      add(command);
    addOthers(/*isBefore=*/false);
    return std::move(orders);
  }

private:
  using Key = std::pair<SegmentWork, int64_t>;

  /// The segments of a chunk's work: for the last micro-batch, and for others.
  struct Computing {
    int64_t last = -1, others = -1;
  };

  void findSegments() {
    for (int64_t number = 0; number < int64_t(plan.segments.size()); ++number) {
      const PlanSegment &segment = plan.segments[number];
      if (!isOfMicroBatch(segment))
        continue;
      chunks = std::max(chunks, segment.chunk + 1);
      if (segment.isTransfer())
        sendsOf(number);
      else
        addSegment(number);
    }
  }

  void addSegment(int64_t number) {
    const PlanSegment &segment = plan.segments[number];
    Computing &own = computing[{segment.work, segment.chunk}];
    if (segment.isPartOf(/*isLast=*/true))
      own.last = number;
    if (segment.isPartOf(/*isLast=*/false))
      own.others = number;
  }

  /// Notes a send of a forward or backward pass. Backward segments follow all
  /// forward ones.
  void sendsOf(int64_t number) {
    const PlanSegment &segment = plan.segments[number];
    if (segment.work != SegmentWork::Send)
      return;
    bool isForward =
        llvm::none_of(llvm::ArrayRef(plan.segments).take_front(number),
                      [](const PlanSegment &before) {
                        return before.work == SegmentWork::Backward;
                      });
    sends[{isForward ? SegmentWork::Forward : SegmentWork::Backward,
           segment.chunk}]
        .push_back(number);
  }

  double secondsOf(SegmentWork work, int64_t chunk) const {
    auto known = computing.find({work, chunk});
    return known == computing.end() ? 0 : seconds[known->second.others];
  }

  /// How much longer a work takes for the last micro-batch.
  double moreSeconds(SegmentWork work, int64_t chunk) const {
    auto known = computing.find({work, chunk});
    if (known == computing.end())
      return 0;
    auto [last, others] = known->second;
    return std::max(0.0, seconds[last] - seconds[others]);
  }

  double sendSeconds(SegmentWork work, int64_t chunk) const {
    double all = 0;
    if (auto known = sends.find({work, chunk}); known != sends.end())
      for (int64_t send : known->second)
        all += seconds[send];
    return all;
  }

  void describe() {
    problem.stages = plan.numStages();
    // A last chunk may compute nothing.
    chunks = (chunks + problem.stages - 1) / problem.stages * problem.stages;
    problem.chunksPerStage = chunks / problem.stages;
    problem.isFolded = schedule.isFolded;
    problem.parts = plan.microBatches;
    problem.hasBackward = llvm::any_of(computing, [](const auto &entry) {
      return entry.first.first != SegmentWork::Forward;
    });
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      PipelineProblem::Chunk &own = problem.chunks.emplace_back();
      own.forward = secondsOf(SegmentWork::Forward, chunk);
      own.input = secondsOf(SegmentWork::Backward, chunk);
      own.weights = secondsOf(SegmentWork::Weights, chunk);
      own.backward = own.input + own.weights;
      own.reducing = moreSeconds(SegmentWork::Backward, chunk) +
                     moreSeconds(SegmentWork::Weights, chunk);
      own.sendForward = sendSeconds(SegmentWork::Forward, chunk);
      own.sendBackward = sendSeconds(SegmentWork::Backward, chunk);
    }
    apply(schedule.policy, units, problem);
  }

  void addTo(int64_t number, int64_t part) {
    for (int64_t stage = 0; stage < problem.stages; ++stage)
      if (plan.segments[number].runsOn(stage))
        orders[stage].push_back({number, part});
  }

  void addComputing(SegmentWork work, const PipelineCommand &command) {
    auto known = computing.find({work, command.chunk});
    if (known == computing.end())
      return;
    bool isLast = command.part + 1 == plan.microBatches;
    addTo(isLast ? known->second.last : known->second.others, command.part);
  }

  void addSends(SegmentWork work, const PipelineCommand &command) {
    auto known = sends.find({work, command.chunk});
    if (known == sends.end())
      return;
    for (int64_t send : known->second) {
      addTo(send, command.part);
      addTo(plan.segments[send].peer, command.part);
    }
  }

  void add(const PipelineCommand &command) {
    // A value for a chunk after the next one is sent although the next chunk is
    // on the same stage.
    switch (command.work) {
    case PipelineWork::Forward:
      addComputing(SegmentWork::Forward, command);
      if (!problem.sendsForward(command.chunk))
        addSends(SegmentWork::Forward, command);
      return;
    case PipelineWork::Backward:
      addComputing(SegmentWork::Backward, command);
      if (!problem.sendsBackward(command.chunk))
        addSends(SegmentWork::Backward, command);
      return;
    case PipelineWork::Weights:
      return addComputing(SegmentWork::Weights, command);
    case PipelineWork::SendForward:
      return addSends(SegmentWork::Forward, command);
    case PipelineWork::SendBackward:
      return addSends(SegmentWork::Backward, command);
    }
  }

  /// Whether a segment belongs to the forward or backward pass of
  /// micro-batches.
  static bool isOfMicroBatch(const PlanSegment &segment) {
    return segment.isOfMicroBatch() && segment.work != SegmentWork::Prologue;
  }

  /// Adds the segments before or after the micro-batches. Counts run for each
  /// of these.
  void addOthers(bool isBefore) {
    bool isBehind = false;
    for (int64_t number = 0; number < int64_t(plan.segments.size()); ++number) {
      const PlanSegment &segment = plan.segments[number];
      isBehind |= isOfMicroBatch(segment);
      if (isOfMicroBatch(segment) || isBehind == isBefore ||
          segment.work == SegmentWork::Receive)
        continue;
      for (int64_t part = 0; part < plan.timesOf(segment); ++part)
        addTo(number, part);
      // At once, so that stages which send to each other do not both wait.
      if (segment.work == SegmentWork::Send)
        addTo(segment.peer, 0);
    }
  }

  const Plan &plan;
  const CostModel &cost;
  const StageSchedule &schedule;
  const int64_t units;
  int64_t chunks = 0;
  PipelineProblem problem;
  /// The simulated seconds of each segment.
  std::vector<double> seconds;
  std::map<Key, Computing> computing;
  std::map<Key, std::vector<int64_t>> sends;
  std::vector<std::vector<StepAction>> orders;
};

} // namespace

llvm::Expected<std::vector<double>>
tpsp::segmentSeconds(const Plan &plan, const CostModel &cost) {
  std::vector<double> seconds;
  for (const WrittenOutStep &step : segmentSteps(plan)) {
    llvm::Expected<SimulatedStep> simulated = simulate(step.plan, cost);
    if (!simulated)
      return simulated.takeError();
    seconds.push_back(std::max(0.0, simulated->seconds - cost.stepSeconds()));
  }
  return seconds;
}

llvm::Expected<std::vector<std::vector<StepAction>>>
tpsp::orderStages(const Plan &plan, const CostModel &cost,
                  const StageSchedule &schedule, int64_t units) {
  return StageScheduler(plan, cost, schedule, units).run();
}
