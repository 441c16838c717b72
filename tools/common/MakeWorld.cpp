#include "MakeWorld.h"

#include "tpsp/Runtime/BackendPlugin.h"
#include "tpsp/Runtime/Driver/Report/StepText.h"
#include "tpsp/Runtime/Driver/Tensors/Inputs.h"
#include "tpsp/Runtime/Driver/Tensors/Weights.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <malloc.h>

using namespace tpsp;
using namespace tpsp::tool;

static void addFiles(const char *use, const std::vector<std::string> &paths,
                     std::vector<rt::AgreedFile> &files) {
  for (const std::string &path : paths)
    files.push_back({use, path});
}

rt::Status tpsp::tool::openArguments(const ToolOptions &options,
                                     const Plan &plan,
                                     std::unique_ptr<rt::TensorSource> others,
                                     Arguments &out) {
  auto inputs = std::make_unique<rt::InputsSource>();
  inputs->leaveOut(out.leftOut);
  TPSP_TRY(inputs->open(options.inputs, plan));
  addFiles("--inputs", inputs->paths(), out.files);
  if (!options.weights.empty()) {
    auto weights = std::make_unique<rt::WeightsSource>(std::move(others));
    TPSP_TRY(
        weights->open(options.weights, plan, out.warning, inputs->given()));
    addFiles("--weights", weights->paths(), out.files);
    others = std::move(weights);
  }
  inputs->setOthers(std::move(others));
  out.source =
      std::make_unique<rt::MastersFromParameters>(plan, std::move(inputs));
  return {};
}

/// A hash of the program. Processes that run together must have the same one.
static uint64_t planHash(const Program &program) {
  const Plan &plan = program.plan();
  std::string text =
      fmt::format("{} {} {} {} {}", program.description.modelHash,
                  program.description.dtype, plan.program, plan.commands.size(),
                  plan.matmulFlops());
  for (const PlanBuffer &tensor : plan.tensors())
    text += fmt::format(" {} {} {}", tensor.name, tensor.subscripts,
                        *tensor.offset);
  for (const LedgerRow &row : plan.ledger)
    text += fmt::format(" {} {}", nameOf(row.kind), row.bytes);
  return XXH3_64bits(text.data(), text.size());
}

rt::Status tpsp::tool::makeWorld(const ToolOptions &options,
                                 const Program &program, const WorldUse &use,
                                 std::unique_ptr<rt::World> &world) {
  const Plan &plan = program.plan();
  TPSP_TRY(rt::loadBackend(options.backend));
  // oneDNN packs its operands into buffers of a few MiB for every product. By
  // default glibc keeps them in every thread's own pool, which is not in the
  // plan. That is 300 MiB for a layer of Llama 8B on four ranks. Give them
  // back.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  rt::WorldConfig config;
  config.backend = options.backend;
  config.mesh = plan.mesh;
  config.arenaBytes = plan.arenaBytes;
  config.arenaConsumers = rt::largestConsumers(plan);
  config.numStreams = plan.numStreams;
  config.numEvents = plan.numEvents;
  config.threadsPerRank = int(options.threads);
  config.timeoutSeconds = options.timeout;
  config.observer = use.observer;
  config.cuda.graphs = options.graph == "on"    ? rt::GraphUse::On
                       : options.graph == "off" ? rt::GraphUse::Off
                                                : rt::GraphUse::Auto;
  if (use.clock)
    config.cuda.replayed = [clock = use.clock](int64_t rank, double seconds) {
      clock->ranOnGpu(rank, seconds);
    };
  config.cuda.ncclAlways = options.ncclAlways;
  config.transport = use.transport;
  config.planHash = planHash(program);
  return rt::World::create(config, world);
}
