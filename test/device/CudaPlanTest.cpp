/// Whole plans on the CUDA backend, on fakes of CUDA's libraries. The fakes run
/// the plan's own device kernels, block by block. The results are compared with
/// the CPU backend's on the same arguments. The test shows that plan, backend
/// and kernels fit each other; it does not test a GPU. It is skipped without
/// the fakes.
#include "HostCode.h"
#include "KernelTrial.h"

#include "../conformance/PostTransport.h"
#include "../cuda-doubles/Doubles.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/BackendPlugin.h"
#include "tpsp/Runtime/Driver/Comparison/Comparison.h"
#include "tpsp/Runtime/Driver/Tensors/RandomData.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/World.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <thread>

using namespace tpsp;
using namespace tpsp::device;

namespace {

/// Returns a function of the fakes; null if the libraries are the real ones.
template <typename F> F *inDoubles(const char *name) {
  static void *library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_LOCAL);
  return library ? reinterpret_cast<F *>(dlsym(library, name)) : nullptr;
}

/// The seed of the arguments.
constexpr uint64_t seed = 11;

/// A result or gradient of every rank, in f64.
using Results = std::vector<std::vector<double>>;

std::vector<double> valuesOf(const PlanBuffer &tensor,
                             const std::vector<char> &bytes) {
  std::vector<double> values(bytes.size() / rt::elementBytes(tensor.dtype));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = rt::isInteger(tensor.dtype)
                    ? 0
                    : rt::loadFloat(bytes.data(), tensor.dtype, i);
  return values;
}

double toleranceOf(const std::string &dtype) {
  return dtype == "bf16" ? 2e-2 : dtype == "f16" ? 2.5e-3 : 1e-5;
}

rt::WorldConfig configOf(const Plan &plan, const std::string &backend) {
  rt::WorldConfig config;
  config.backend = backend;
  config.mesh = plan.mesh;
  config.arenaBytes = plan.arenaBytes;
  config.numStreams = plan.numStreams;
  config.numEvents = plan.numEvents;
  return config;
}

/// Runs three steps. If ranks do not share a GPU, CUDA runs the first directly,
/// captures the second and replays the third. Everything but the arguments
/// begins as NaN.
/// With `transport`, runs the rank of this process alone. `out` is of the size
/// of all results.
rt::Status run(const CompiledModel &model, const JitProgram &program,
               const std::string &backend, Results &out,
               rt::Transport *transport = nullptr) {
  const Plan &plan = *model.plan;
  const auto tensors = plan.tensors();
  rt::WorldConfig config = configOf(plan, backend);
  config.transport = transport;
  std::unique_ptr<rt::World> world;
  if (rt::Status s = rt::World::create(config, world); !s.ok())
    return s;
  rt::RandomSource source(seed);
  auto fill = [&](rt::Rank &rank) -> rt::Status {
    std::vector<char> bytes(plan.arenaBytes, '\xff');
    for (const PlanBuffer &tensor : plan.tensors())
      if (tensor.isArgument() && tensor.isHeldAt(rank.coordinates()))
        if (rt::Status s = source.fill(
                tensor, rt::Shard(tensor, plan.mesh, rank.coordinates()),
                bytes.data() + *tensor.offset);
            !s.ok())
          return s;
    return rank.write(0, bytes.data(), plan.arenaBytes);
  };
  auto read = [&](rt::Rank &rank) -> rt::Status {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const PlanBuffer &tensor = tensors[i];
      if (!tensor.isHeldAt(rank.coordinates()))
        continue;
      std::vector<char> bytes(tensor.bytes);
      if (rt::Status s = rank.read(*tensor.offset, bytes.data(), tensor.bytes);
          !s.ok())
        return s;
      out[rank.number() * tensors.size() + i] = valuesOf(tensor, bytes);
    }
    return {};
  };
  if (rt::Status s = world->run(fill); !s.ok())
    return s;
  for (int step = 0; step < 3; ++step)
    if (rt::Status s = world->run(
            [&](rt::Rank &rank) { return rank.step(program.step, plan); });
        !s.ok())
      return s;
  return world->run(read);
}

/// Runs each rank in a "process", which is a thread.
rt::Status runInProcesses(const CompiledModel &model, const JitProgram &program,
                          Results &out) {
  rt::conformance::Post post;
  post.ranks = model.plan->numRanks();
  std::vector<rt::Status> results(size_t(post.ranks));
  std::vector<std::thread> processes;
  for (int64_t rank = 0; rank < post.ranks; ++rank)
    processes.emplace_back([&, rank] {
      rt::conformance::PostTransport transport(post, rank);
      rt::Status &result = results[size_t(rank)];
      result = run(model, program, "cuda", out, &transport);
      if (!result.ok())
        transport.abort();
    });
  for (std::thread &process : processes)
    process.join();
  for (const rt::Status &result : results)
    if (!result.ok() && result.code() != TPSP_RT_ABORTED)
      return result;
  return results[0];
}

double normOf(const std::vector<double> &values) {
  double squares = 0;
  for (double value : values)
    squares += value * value;
  return std::sqrt(squares);
}

double distance(std::vector<double> a, const std::vector<double> &b) {
  for (size_t i = 0; i < a.size(); ++i)
    a[i] -= b[i];
  return normOf(a);
}

/// Returns, for each result of the unsharded program, the norm of the
/// difference that rounding alone makes.
std::vector<double> roundingOf(const CompiledModel &model) {
  std::vector<reference::Tensor> arguments, exact, rounded;
  rt::RandomSource source(seed);
  for (const PlanBuffer &tensor : model.plan->tensors())
    if (tensor.isArgument()) {
      const reference::ValueType &type =
          reference::argumentType(model.reference, arguments.size());
      arguments.push_back({type.indices, type.shape, {}});
      EXPECT_TRUE(source.whole(tensor, arguments.back().data).ok());
    }
  std::vector<const reference::Tensor *> pointers;
  for (const reference::Tensor &argument : arguments)
    pointers.push_back(&argument);
  reference::EvaluationOptions options;
  EXPECT_EQ(evaluate(model.reference, pointers, exact, options), "");
  options.arithmetic = reference::Arithmetic::Rounded;
  EXPECT_EQ(evaluate(model.reference, pointers, rounded, options), "");
  std::vector<double> norms;
  for (size_t i = 0; i < exact.size(); ++i)
    norms.push_back(distance(rounded[i].data, exact[i].data));
  return norms;
}

struct Case {
  const char *name, *model;
  std::vector<std::string> mesh;
  const char *dtype;
  int devices;
  bool overlap;
  const char *attention = "rows";
  /// With an optimizer, three steps are three updates of parameters and state.
  const char *optimizer = "none";
  const char *balance = "off";
  /// For models with stages.
  int64_t microBatches = 1, chunks = 1;
  const char *schedule = "1f1b";
  bool isInProcesses = false;
};

void PrintTo(const Case &each, std::ostream *out) { *out << each.name; }

class CudaPlan : public testing::TestWithParam<Case> {};

TEST_P(CudaPlan, ComputesWhatTheCpuComputes) {
  ASSERT_TRUE(rt::loadBackend("cpu").ok());
  rt::Status loaded = rt::loadBackend("cuda");
  auto *launch =
      inDoubles<void(const char *, const DoubleKernel &, const size_t *, int)>(
          "tpspDoubleRegisterKernel");
  if (!loaded.ok() || !launch)
    GTEST_SKIP() << "CUDA's libraries are not fakes";
  inDoubles<void(int)>("tpspDoubleSetDevices")(GetParam().devices);

  CompileOptions options;
  options.grad = true;
  options.mesh = GetParam().mesh;
  options.dtype = GetParam().dtype;
  options.overlap = GetParam().overlap ? "on" : "off";
  options.attention = GetParam().attention;
  options.attentionBlock = 8;
  options.balanceAttention = GetParam().balance;
  options.overlapChunks = GetParam().overlap ? 2 : 0;
  options.optimizer = GetParam().optimizer;
  options.microBatches = GetParam().microBatches;
  options.stageChunks = GetParam().chunks;
  options.stageSchedule = GetParam().schedule;
  if (options.optimizer != "none") {
    options.optimizerAxes = {"tp"};
    options.clip = 0.5;
  }
  Program program(exampleText(GetParam().model), options);
  ASSERT_TRUE(bool(program));
  auto code = DeviceCode::create(*program.model.module);
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  std::string trouble;
  for (const auto &[entry, parameters] : (*code)->kernels()) {
    std::vector<size_t> sizes(parameters, sizeof(int64_t));
    auto onHost = [&, entry = entry](dim3 grid, dim3 block, size_t,
                                     void **values) {
      std::string problem =
          (*code)->launch(entry, {grid.x, grid.y}, block.x, values);
      if (!problem.empty())
        trouble = entry + ": " + problem;
    };
    launch(entry.c_str(), onHost, sizes.data(), int(sizes.size()));
  }
  auto machine = JitProgram::create(
      *program.model.module, program.model.plan->program, CodeEffort::Little);
  ASSERT_TRUE(bool(machine)) << llvm::toString(machine.takeError());

  const Plan &plan = *program.model.plan;
  const auto tensors = plan.tensors();
  EXPECT_EQ(attentionOf(plan).empty(), !options.keepsCalls());
  Results wanted(plan.numRanks() * tensors.size()), found = wanted;
  rt::Status status = run(program.model, *machine, "cpu", wanted);
  ASSERT_TRUE(status.ok()) << status.message();
  inDoubles<void()>("tpspDoubleForgetCalls")();
  status = GetParam().isInProcesses
               ? runInProcesses(program.model, *machine, found)
               : run(program.model, *machine, "cuda", found);
  if (status.code() == TPSP_RT_UNSUPPORTED && !attentionOf(plan).empty())
    GTEST_SKIP() << status.message();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(trouble, "");
  // Loads and allocations for which the driver may wait without end.
  EXPECT_EQ(inDoubles<int(const char *)>("tpspDoubleCalls")(
                "work that waits for a collective"),
            0);
  double tolerance = toleranceOf(GetParam().dtype);
  // A gradient that is zero but for rounding, such as a key's bias, differs by
  // rounding alone.
  std::vector<double> rounding = roundingOf(program.model);
  for (size_t i = 0; i < found.size(); ++i) {
    const PlanBuffer &tensor = tensors[i % tensors.size()];
    if (rt::isInteger(tensor.dtype))
      continue;
    double allowed = tolerance * normOf(wanted[i]);
    if (!tensor.isArgument())
      allowed = std::max(allowed, rt::roundingFactor * rounding[tensor.number]);
    EXPECT_LE(distance(found[i], wanted[i]), allowed)
        << tensor.name << " of rank " << i / tensors.size();
  }
}

/// Runs one step of stage 0, and none of the other stage.
rt::Status runFirstStage(const CompiledModel &model,
                         const JitProgram &program) {
  const Plan &plan = *model.plan;
  rt::WorldConfig config = configOf(plan, "cpu");
  config.timeoutSeconds = 1;
  std::unique_ptr<rt::World> world;
  if (rt::Status s = rt::World::create(config, world); !s.ok())
    return s;
  return world->run([&](rt::Rank &rank) -> rt::Status {
    return rank.coordinate(plan.stageAxis) == 0 ? rank.step(program.step, plan)
                                                : rt::Status();
  });
}

TEST(StagesTest, ATimeoutNamesTheActionOfAStage) {
  ASSERT_TRUE(rt::loadBackend("cpu").ok());
  CompileOptions options;
  options.grad = true;
  options.mesh = {"pp=2", "tp=1"};
  options.microBatches = 4;
  Program program(exampleText("pp"), options);
  ASSERT_TRUE(bool(program));
  auto machine = JitProgram::create(
      *program.model.module, program.model.plan->program, CodeEffort::Little);
  ASSERT_TRUE(bool(machine)) << llvm::toString(machine.takeError());
  rt::Status status = runFirstStage(program.model, *machine);
  EXPECT_EQ(status.code(), TPSP_RT_TIMEOUT);
  EXPECT_THAT(
      status.message(),
      testing::MatchesRegex("rank 0: transfer .*: waited 1.0 s for rank "
                            "1 .*; the rank is in \".* 0\" of "
                            "micro-batch .*"));
}

INSTANTIATE_TEST_SUITE_P(
    Examples, CudaPlan,
    testing::Values(
        Case{"OneRank", "mlp-sp", {"tp=1"}, "", 1, false},
        Case{"SharedCard", "mlp-sp", {"tp=2"}, "", 1, false},
        Case{"NcclOnStreams", "mlp-sp", {"tp=2"}, "", 2, true},
        Case{"BlockInF16", "gpt-block-sp", {"tp=2"}, "f16", 1, false},
        Case{"F16OverNccl", "mlp-sp", {"tp=2"}, "f16", 2, true},
        Case{"Experts", "moe-ep", {"ep=2", "tp=1"}, "", 2, false},
        Case{"ExpertsInBlocks", "moe-dropless", {"ep=2", "tp=1"}, "", 2, false},
        Case{"ExpertsInBf16",
             "moe-dropless",
             {"ep=1", "tp=2"},
             "bf16",
             1,
             false},
        Case{"RingInBf16", "cp-attention", {"cp=2"}, "bf16", 2, true, "blocks"},
        Case{"FusedInBf16", "gqa", {"tp=2"}, "bf16", 2, true, "fused"},
        Case{"DividedInBf16",
             "cp-attention",
             {"cp=2"},
             "bf16",
             2,
             false,
             "fused"},
        Case{"BalancedInBf16",
             "cp-attention",
             {"cp=4"},
             "bf16",
             4,
             true,
             "fused",
             "none",
             "on"},
        Case{"RingOfCalls", "cp-attention", {"cp=2"}, "bf16", 2, true, "ring"},
        Case{"Update", "mlp-sp", {"tp=2"}, "", 2, false, "rows", "adamw"},
        Case{"UpdateWithMasters",
             "mlp-sp",
             {"tp=2"},
             "bf16",
             2,
             true,
             "rows",
             "adamw"},
        Case{"StagesOnSharedCard",
             "pp",
             {"pp=2", "tp=2"},
             "",
             1,
             false,
             "rows",
             "adamw",
             "off",
             4,
             1,
             "1f1b"},
        Case{"StagesWithOverlap",
             "pp",
             {"pp=2", "tp=2"},
             "",
             4,
             true,
             "rows",
             "adamw",
             "off",
             4,
             1,
             "1f1b"},
        Case{"ChunksInProcesses",
             "pp",
             {"pp=2", "tp=1"},
             "",
             2,
             false,
             "rows",
             "adamw",
             "off",
             4,
             2,
             "1f1b",
             true},
        Case{"ZeroBubbleInBf16",
             "pp",
             {"pp=4", "tp=1"},
             "bf16",
             4,
             false,
             "rows",
             "none",
             "off",
             8,
             1,
             "zero-bubble"}),
    [](const testing::TestParamInfo<Case> &info) {
      return std::string(info.param.name);
    });

} // namespace
