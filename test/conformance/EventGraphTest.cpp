/// Random programs run on several streams, ordered only by the events that they
/// need. They must compute the same as one command after another. Under the
/// thread sanitizer this also finds an order that was kept only by luck.
#include "ConformanceWorld.h"
#include "DeviceTwins.h"

#include <algorithm>

using namespace tpsp::rt;
using namespace tpsp::rt::conformance;

namespace {

constexpr int64_t numStreams = 3, numTensors = 6, elements = 32, ranks = 2;
constexpr int64_t tensorBytes = elements * 8;
constexpr int numCommands = 30, numPrograms = 50, stepsPerProgram = 20;

using Values = std::vector<std::vector<uint64_t>>;

/// third = 3 third + first - 5 second
uint64_t mixed(uint64_t first, uint64_t second, uint64_t third) {
  return 3 * third + first - 5 * second;
}

void mix(void *const *buffers, const int64_t *, int64_t begin, int64_t end) {
  auto *first = static_cast<uint64_t *>(buffers[0]);
  auto *second = static_cast<uint64_t *>(buffers[1]);
  auto *third = static_cast<uint64_t *>(buffers[2]);
  for (int64_t i = begin; i < end; ++i)
    third[i] = mixed(first[i], second[i], third[i]);
}

const bool haveTwins = addDeviceTwin(mix, "test_mix");

/// A kernel on three tensors, or a sum of one tensor over the ranks.
struct Step {
  bool isSum;
  int64_t stream, first, second, third;

  bool reads(int64_t tensor) const {
    return tensor == third || (!isSum && (tensor == first || tensor == second));
  }
  bool conflictsWith(const Step &other) const {
    return reads(other.third) || other.reads(third);
  }
};

class EventGraphTest : public ConformanceTest {
  const char *testedCall() const override { return "streams"; }

protected:
  int64_t below(int64_t bound) {
    return std::uniform_int_distribution<int64_t>(0, bound - 1)(random);
  }

  std::vector<Step> randomProgram() {
    std::vector<Step> steps;
    for (int i = 0; i < numCommands; ++i)
      steps.push_back({below(4) == 0, below(numStreams), below(numTensors),
                       below(numTensors), below(numTensors)});
    return steps;
  }

  /// Adds an event wherever commands of two streams conflict. Returns the
  /// number of events.
  static int64_t makePlan(const std::vector<Step> &steps, Plan &plan) {
    // Each command's event, recorded right after it; -1 if no command waits for
    // it.
    std::vector<int64_t> events(steps.size(), -1);
    std::vector<std::vector<size_t>> waits(steps.size());
    int64_t count = 0;
    for (size_t i = 0; i < steps.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        if (steps[j].stream == steps[i].stream ||
            !steps[j].conflictsWith(steps[i]))
          continue;
        waits[i].push_back(j);
        if (events[j] < 0)
          events[j] = count++;
      }
    for (size_t i = 0; i < steps.size(); ++i) {
      plan.on(steps[i].stream);
      for (size_t j : waits[i])
        plan.add(tpsp_rt_event_wait, EventCommand{events[j]}.encode(), {});
      addStep(steps[i], plan);
      if (events[i] >= 0)
        plan.add(tpsp_rt_event_record, EventCommand{events[i]}.encode(), {});
    }
    return count;
  }

  static void addStep(const Step &step, Plan &plan) {
    int64_t third = step.third * tensorBytes;
    if (step.isSum) {
      AllReduceCommand sum;
      sum.dtype = TPSP_RT_I64;
      sum.axes = {0};
      sum.counts = {elements};
      plan.add(tpsp_rt_all_reduce, sum.encode(), {third, third});
      return;
    }
    KernelCommand kernel;
    kernel.grid = elements;
    plan.add(tpsp_rt_kernel, kernel.encode(),
             {step.first * tensorBytes, step.second * tensorBytes, third},
             "%mix", mix);
  }

  /// Computes each rank's tensors, in the order of the arena.
  static void expect(const std::vector<Step> &steps, Values &values) {
    for (const Step &step : steps)
      for (int64_t i = 0; i < elements; ++i) {
        uint64_t sum = 0;
        for (auto &tensors : values)
          sum += tensors[step.third * elements + i];
        for (auto &tensors : values) {
          uint64_t &third = tensors[step.third * elements + i];
          third = step.isSum
                      ? sum
                      : mixed(tensors[step.first * elements + i],
                              tensors[step.second * elements + i], third);
        }
      }
  }
};

TEST_P(EventGraphTest, RandomProgramsComputeTheSameAsInOrder) {
  for (int program = 0; program < numPrograms; ++program) {
    SCOPED_TRACE("seed " + std::to_string(testSeed()) + ", program " +
                 std::to_string(program));
    std::vector<Step> steps = randomProgram();
    Plan plan;
    WorldConfig settings = config({{"x", ranks}}, numTensors * tensorBytes);
    settings.numStreams = numStreams;
    settings.numEvents = makePlan(steps, plan);
    auto world = makeWorld(settings);
    Values want(ranks, std::vector<uint64_t>(numTensors * elements));
    for (auto &tensors : want)
      std::generate(tensors.begin(), tensors.end(), std::ref(random));
    const Values start = want;
    for (int i = 0; i < stepsPerProgram; ++i)
      expect(steps, want);
    Status status = world->run([&](Rank &rank) -> Status {
      std::vector<uint64_t> got = start[rank.number()];
      int64_t bytes = int64_t(got.size()) * 8;
      if (Status s = rank.write(0, got.data(), bytes); !s.ok())
        return s;
      for (int i = 0; i < stepsPerProgram; ++i)
        if (Status s = program % 2 ? plan.step(rank) : plan.stepOrReplay(rank);
            !s.ok())
          return s;
      if (Status s = rank.read(0, got.data(), bytes); !s.ok())
        return s;
      EXPECT_EQ(got, want[rank.number()]) << "rank " << rank.number();
      return {};
    });
    ASSERT_TRUE(status.ok()) << status.message();
    if (HasFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EventGraphTest,
                         testing::ValuesIn(conformingBackends()),
                         [](const auto &info) { return info.param.name; });

} // namespace
