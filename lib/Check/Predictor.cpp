#include "tpsp/Check/Predictor.h"

#include "ChangedBackend.h"
#include "Reach.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/World.h"

using namespace tpsp;
using namespace tpsp::check;

struct Predictor::Impl {
  Impl(const Plan &plan, rt::StepFunction step, const rt::TensorSource &source)
      : plan(plan), step(step), source(source) {}

  /// Fills the arguments that an earlier step has changed.
  rt::Status fillArguments(rt::Rank &rank) const;
  rt::Status giveOwn(rt::Rank &rank, const Change &change) const;
  rt::Status multiplyArguments(rt::Rank &rank, const Change &change) const;
  rt::Status moveArguments(rt::Rank &rank, const Change &change) const;
  rt::Status readResults(rt::Rank &rank, const RunFocus &focus,
                         std::vector<RankValues> &out) const;
  void aim(const RunFocus &focus);
  /// Fills lastWriter.
  void findWriters();
  int64_t lastWriterOf(const PlanBuffer &tensor) const {
    return lastWriter[&tensor - plan.buffers.data()];
  }
  /// Whether a watch sees a result while the step runs.
  bool isSeen(const RunFocus &focus, size_t result) const;
  /// Calls `visit` with each argument that this rank holds and that `changes`
  /// has, and with its change.
  template <typename Each, typename Visit>
  rt::Status forEachHeld(const rt::Rank &rank,
                         const std::map<int64_t, Each> &changes,
                         Visit visit) const;
  /// Whether a step with this change leaves an argument other than it was.
  bool changes(const Change &change, const PlanBuffer &argument) const;

  const Plan &plan;
  rt::StepFunction step;
  const rt::TensorSource &source;
  rt::RankMesh mesh;
  std::shared_ptr<ChangeSlot> slot = std::make_shared<ChangeSlot>();
  std::vector<const PlanBuffer *> results;
  std::unique_ptr<rt::World> world;
  int64_t runs = 0;
  /// Whether memory has an argument as the source gives it, by the buffer's
  /// position.
  std::vector<bool> isFilled = std::vector<bool>(plan.buffers.size(), false);
  /// The last command that writes a buffer; -1 if none does.
  std::vector<int64_t> lastWriter =
      std::vector<int64_t>(plan.buffers.size(), -1);
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
  impl->findWriters();
  TPSP_TRY(rt::RankMesh::create(plan.mesh, impl->mesh));
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

template <typename Each, typename Visit>
rt::Status Predictor::Impl::forEachHeld(const rt::Rank &rank,
                                        const std::map<int64_t, Each> &changes,
                                        Visit visit) const {
  if (changes.empty())
    return {};
  for (const PlanBuffer &tensor : plan.tensors()) {
    auto found = changes.find(tensor.number);
    if (tensor.isArgument() && found != changes.end() &&
        tensor.isHeldAt(rank.coordinates()))
      TPSP_TRY(visit(tensor, found->second));
  }
  return {};
}

rt::Status Predictor::Impl::multiplyArguments(rt::Rank &rank,
                                              const Change &change) const {
  std::vector<char> staging;
  auto multiply = [&](const PlanBuffer &tensor, double factor) {
    return rank.inspect(*tensor.offset, tensor.bytes, staging, [&](void *at) {
      int64_t count = tensor.bytes / rt::elementBytes(tensor.dtype);
      for (int64_t i = 0; i < count; ++i)
        rt::storeFloat(factor * rt::loadFloat(at, tensor.dtype, i),
                       tensor.dtype, at, i);
      return rt::Status();
    });
  };
  return forEachHeld(rank, change.arguments, multiply);
}

rt::Status Predictor::Impl::moveArguments(rt::Rank &rank,
                                          const Change &change) const {
  std::vector<char> staging;
  auto move = [&](const PlanBuffer &tensor, const OtherParts &parts) {
    rt::RankGroup group;
    TPSP_TRY(mesh.group(rank.number(), parts.axes, group));
    int64_t from = group.ranks[parts.from[group.self]];
    return rank.fill(*tensor.offset, tensor.bytes, staging, [&](void *at) {
      return source.fill(
          tensor, rt::Shard(tensor, plan.mesh, mesh.coordinates(from)), at);
    });
  };
  return forEachHeld(rank, change.parts, move);
}

/// A rank's part of a result, without padding.
static std::vector<double> partIn(const void *memory, const PlanBuffer &tensor,
                                  const rt::Shard &shard) {
  std::vector<double> part;
  part.reserve(shard.elements());
  shard.forEachRun([&](int64_t, int64_t local, int64_t count) {
    for (int64_t k = 0; k < count; ++k)
      part.push_back(rt::loadNumber(memory, tensor.dtype, local + k));
  });
  return part;
}

rt::Status Predictor::Impl::readResults(rt::Rank &rank, const RunFocus &focus,
                                        std::vector<RankValues> &out) const {
  std::vector<char> staging;
  for (size_t i = 0; i < results.size(); ++i) {
    const PlanBuffer &tensor = *results[i];
    if (!focus.wants(i) || isSeen(focus, i) ||
        !tensor.isHeldAt(rank.coordinates()))
      continue;
    rt::Shard shard(tensor, plan.mesh, rank.coordinates());
    TPSP_TRY(rank.inspect(
        *tensor.offset, tensor.bytes, staging, [&](const void *memory) {
          out[i][rank.number()] = partIn(memory, tensor, shard);
          return rt::Status();
        }));
  }
  return {};
}

void Predictor::Impl::findWriters() {
  for (size_t i = 0; i < plan.commands.size(); ++i)
    for (const PlanAccess &access : plan.commands[i].accesses)
      if (access.isWrite)
        lastWriter[access.buffer] = int64_t(i);
}

bool Predictor::Impl::isSeen(const RunFocus &focus, size_t result) const {
  return focus.watch && lastWriterOf(*results[result]) >= 0 &&
         focus.watch->sees(result);
}

void Predictor::Impl::aim(const RunFocus &focus) {
  slot->isEnded = false;
  slot->skipped.clear();
  slot->watched.clear();
  std::vector<const PlanBuffer *> wanted;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!focus.wants(i))
      continue;
    wanted.push_back(results[i]);
    if (isSeen(focus, i))
      slot->watched[lastWriterOf(*results[i])].push_back(i);
  }
  // Stages wait for each other's commands.
  if (!focus.results.empty() && plan.numStages() == 1) {
    slot->skipped = neededCommands(plan, wanted);
    slot->skipped.flip();
  }
  slot->see = [this, &focus](rt::BackendRank &rank, int64_t number,
                             size_t result) {
    const PlanBuffer &tensor = *results[result];
    rt::Shard shard(tensor, plan.mesh, mesh.coordinates(number));
    focus.watch->see(result, number,
                     partIn(rank.hostAddress(*tensor.offset), tensor, shard));
    return rt::Status();
  };
  slot->goesOn = [&focus](size_t result) {
    return focus.watch->goesOn(result);
  };
}

bool Predictor::Impl::changes(const Change &change,
                              const PlanBuffer &argument) const {
  return change.arguments.count(argument.number) ||
         change.parts.count(argument.number) ||
         change.own.count(argument.number) || lastWriterOf(argument) >= 0;
}

rt::Status Predictor::Impl::fillArguments(rt::Rank &rank) const {
  return rt::fillArguments(rank, source, plan, [&](const PlanBuffer &tensor) {
    return !isFilled[&tensor - plan.buffers.data()];
  });
}

rt::Status Predictor::Impl::giveOwn(rt::Rank &rank,
                                    const Change &change) const {
  std::vector<char> staging;
  auto give = [&](const PlanBuffer &tensor,
                  const std::shared_ptr<const RankValues> &own) {
    const std::vector<double> &values = (*own)[rank.number()];
    rt::Shard shard(tensor, plan.mesh, rank.coordinates());
    return rank.fill(*tensor.offset, tensor.bytes, staging, [&](void *at) {
      size_t next = 0;
      shard.forEachRun([&](int64_t, int64_t local, int64_t count) {
        for (int64_t k = 0; k < count; ++k)
          rt::storeFloat(values[next++], tensor.dtype, at, local + k);
      });
      return rt::Status();
    });
  };
  return forEachHeld(rank, change.own, give);
}

bool Predictor::canBeWatched() const {
  return impl->plan.numStages() == 1 && impl->plan.microBatches <= 1;
}

rt::Status Predictor::run(const Change &change, std::vector<RankValues> &out,
                          const RunFocus &focus) {
  out.assign(impl->results.size(), RankValues(impl->world->numRanks()));
  impl->slot->current = change.isEmpty() ? nullptr : &change;
  impl->aim(focus);
  ++impl->runs;
  rt::Status status = impl->world->run([&](rt::Rank &rank) {
    TPSP_TRY(impl->fillArguments(rank));
    TPSP_TRY(impl->giveOwn(rank, change));
    TPSP_TRY(impl->moveArguments(rank, change));
    TPSP_TRY(impl->multiplyArguments(rank, change));
    TPSP_TRY(rank.step(impl->step, impl->plan));
    TPSP_TRY(rank.synchronize());
    return impl->slot->isEnded ? rt::Status()
                               : impl->readResults(rank, focus, out);
  });
  impl->slot->current = nullptr;
  for (const PlanBuffer &tensor : impl->plan.tensors())
    impl->isFilled[&tensor - impl->plan.buffers.data()] =
        status.ok() && !impl->changes(change, tensor);
  TPSP_TRY(status);
  for (size_t i = 0; i < out.size(); ++i)
    fillOtherStages(*impl->results[i], impl->mesh, out[i]);
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
