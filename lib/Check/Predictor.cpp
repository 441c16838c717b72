#include "tpsp/Check/Predictor.h"

#include "ChangedBackend.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/World.h"

using namespace tpsp;
using namespace tpsp::check;

struct Predictor::Impl {
  Impl(const Plan &plan, rt::StepFunction step, const rt::TensorSource &source)
      : plan(plan), step(step), source(source) {}

  rt::Status multiplyArguments(rt::Rank &rank, const Change &change) const;
  rt::Status moveArguments(rt::Rank &rank, const Change &change) const;
  rt::Status readResults(rt::Rank &rank, std::vector<RankValues> &out) const;

  const Plan &plan;
  rt::StepFunction step;
  const rt::TensorSource &source;
  std::shared_ptr<ChangeSlot> slot = std::make_shared<ChangeSlot>();
  std::vector<const PlanBuffer *> results;
  std::unique_ptr<rt::World> world;
  int64_t runs = 0;
};

Predictor::Predictor(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Predictor::~Predictor() = default;

const Plan &Predictor::plan() const { return impl->plan; }
const std::vector<const PlanBuffer *> &Predictor::results() const {
  return impl->results;
}
int64_t Predictor::runs() const { return impl->runs; }

rt::Status Predictor::create(const Plan &plan, rt::StepFunction step,
                             const rt::TensorSource &source,
                             const PredictorSettings &settings,
                             std::unique_ptr<Predictor> &out) {
  for (const PlanCommand &command : plan.commands)
    if (command.stream > 0 && command.communicates() &&
        command.collective.kind != CollectiveKind::Transfer)
      return rt::invalid(
          "the plan overlaps communication, and a check needs its "
          "commands one after another; compile it with --overlap "
          "off");
  auto impl = std::make_unique<Impl>(plan, step, source);
  impl->slot->plan = &plan;
  for (const PlanBuffer &tensor : plan.tensors())
    if (tensor.resultNumber() >= 0)
      impl->results.push_back(&tensor);
  rt::WorldConfig config;
  config.backend = registerChangedBackend(impl->slot);
  config.mesh = plan.mesh;
  config.arenaBytes = plan.arenaBytes;
  config.numStreams = plan.numStreams;
  config.numEvents = plan.numEvents;
  config.threadsPerRank = settings.threads;
  config.timeoutSeconds = settings.timeout;
  TPSP_TRY(rt::World::create(config, impl->world));
  out.reset(new Predictor(std::move(impl)));
  return {};
}

rt::Status Predictor::Impl::multiplyArguments(rt::Rank &rank,
                                              const Change &change) const {
  std::vector<char> staging;
  for (const PlanBuffer &tensor : plan.tensors()) {
    auto found = change.arguments.find(tensor.number);
    if (!tensor.isArgument() || found == change.arguments.end() ||
        !tensor.isHeldAt(rank.coordinates()))
      continue;
    TPSP_TRY(rank.inspect(*tensor.offset, tensor.bytes, staging, [&](void *at) {
      int64_t count = tensor.bytes / rt::elementBytes(tensor.dtype);
      for (int64_t i = 0; i < count; ++i)
        rt::storeFloat(found->second * rt::loadFloat(at, tensor.dtype, i),
                       tensor.dtype, at, i);
      return rt::Status();
    }));
  }
  return {};
}

rt::Status Predictor::Impl::moveArguments(rt::Rank &rank,
                                          const Change &change) const {
  rt::RankMesh mesh;
  TPSP_TRY(rt::RankMesh::create(plan.mesh, mesh));
  std::vector<char> staging;
  for (const PlanBuffer &tensor : plan.tensors()) {
    auto found = change.parts.find(tensor.number);
    if (!tensor.isArgument() || found == change.parts.end() ||
        !tensor.isHeldAt(rank.coordinates()))
      continue;
    rt::RankGroup group;
    TPSP_TRY(mesh.group(rank.number(), found->second.axes, group));
    int64_t from = group.ranks[found->second.from[group.self]];
    TPSP_TRY(rank.fill(*tensor.offset, tensor.bytes, staging, [&](void *at) {
      return source.fill(
          tensor, rt::Shard(tensor, plan.mesh, mesh.coordinates(from)), at);
    }));
  }
  return {};
}

rt::Status Predictor::Impl::readResults(rt::Rank &rank,
                                        std::vector<RankValues> &out) const {
  std::vector<char> staging;
  for (size_t i = 0; i < results.size(); ++i) {
    const PlanBuffer &tensor = *results[i];
    if (!tensor.isHeldAt(rank.coordinates()))
      continue;
    std::vector<double> &part = out[i][rank.number()];
    rt::Shard shard(tensor, plan.mesh, rank.coordinates());
    part.reserve(shard.elements());
    TPSP_TRY(rank.inspect(
        *tensor.offset, tensor.bytes, staging, [&](const void *memory) {
          shard.forEachRun([&](int64_t, int64_t local, int64_t count) {
            for (int64_t k = 0; k < count; ++k)
              part.push_back(rt::loadNumber(memory, tensor.dtype, local + k));
          });
          return rt::Status();
        }));
  }
  return {};
}

rt::Status Predictor::run(const Change &change, std::vector<RankValues> &out) {
  out.assign(impl->results.size(), RankValues(impl->world->numRanks()));
  impl->slot->current = change.isEmpty() ? nullptr : &change;
  ++impl->runs;
  rt::Status status = impl->world->run([&](rt::Rank &rank) {
    TPSP_TRY(rt::fillArguments(rank, impl->source, impl->plan));
    TPSP_TRY(impl->moveArguments(rank, change));
    TPSP_TRY(impl->multiplyArguments(rank, change));
    TPSP_TRY(rank.step(impl->step, impl->plan));
    TPSP_TRY(rank.synchronize());
    return impl->readResults(rank, out);
  });
  impl->slot->current = nullptr;
  TPSP_TRY(status);
  rt::RankMesh mesh;
  TPSP_TRY(rt::RankMesh::create(impl->plan.mesh, mesh));
  for (size_t i = 0; i < out.size(); ++i)
    fillOtherStages(*impl->results[i], mesh, out[i]);
  return {};
}

/// The first rank of the same place on another stage that has values.
static std::optional<int64_t> alikeWithValues(const rt::RankMesh &mesh,
                                              int64_t stageAxis, int64_t rank,
                                              const RankValues &values) {
  rt::RankGroup group;
  if (!mesh.group(rank, {stageAxis}, group).ok())
    return std::nullopt;
  for (int64_t other : group.ranks)
    if (!values[other].empty())
      return other;
  return std::nullopt;
}

void tpsp::check::fillOtherStages(const PlanBuffer &tensor,
                                  const rt::RankMesh &mesh,
                                  RankValues &values) {
  if (tensor.stages.empty())
    return;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    if (values[rank].empty() && !tensor.isHeldAt(mesh.coordinates(rank)))
      if (auto other = alikeWithValues(mesh, tensor.stageAxis, rank, values))
        values[rank] = values[*other];
}
