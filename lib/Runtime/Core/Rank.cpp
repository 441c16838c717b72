#include "RankContext.h"
#include "tpsp/Abi/InvalidStatus.h"
#include "tpsp/Runtime/World.h"

namespace tpsp::rt {
namespace {

Status checkRange(const tpsp_rt_rank &rank, const char *what, int64_t offset,
                  int64_t bytes) {
  int64_t arena = rank.world.config.arenaBytes;
  if (offset >= 0 && bytes >= 0 && offset <= arena && bytes <= arena - offset)
    return {};
  return invalid("{} of {} bytes at byte {} of an arena of {}", what, bytes,
                 offset, arena);
}

} // namespace

int64_t Rank::number() const { return context.number; }

const std::vector<int64_t> &Rank::coordinates() const {
  return context.coordinates;
}

Status Rank::result(tpsp_rt_status code) const { return context.result(code); }

Status Rank::step(StepFunction issue, const Plan &plan) {
  // A reference to one object is small enough for std::function not to
  // allocate.
  auto all = [&](tpsp_rt_rank *rank) {
    return rank->actions.issue(*rank, issue, plan);
  };
  return step(reinterpret_cast<const void *>(issue),
              [&all](tpsp_rt_rank *rank) { return all(rank); });
}

Status Rank::step(const void *identity,
                  const std::function<tpsp_rt_status(tpsp_rt_rank *)> &issue) {
  return context.runStep(identity, issue);
}

Status Rank::synchronize() { return context.backend->synchronize(); }

Status Rank::write(int64_t offset, const void *source, int64_t bytes) {
  TPSP_TRY(checkRange(context, "write", offset, bytes));
  TPSP_TRY(context.backend->synchronize());
  return context.backend->write(offset, source, bytes);
}

Status Rank::read(int64_t offset, void *destination, int64_t bytes) {
  TPSP_TRY(checkRange(context, "read", offset, bytes));
  TPSP_TRY(context.backend->synchronize());
  return context.backend->read(offset, destination, bytes);
}

void *Rank::hostAddress(int64_t offset) {
  if (!checkRange(context, "address", offset, 0).ok())
    return nullptr;
  return context.backend->hostAddress(offset);
}

} // namespace tpsp::rt
