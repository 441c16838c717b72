#include "NcclCommunicators.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <numeric>
#include <system_error>
#include <thread>

namespace tpsp::rt {
namespace {

/// A communicator in the making, of a thread that may outlive the wait for it.
struct Attempt {
  std::mutex mutex;
  std::condition_variable changed;
  bool isDone = false, isAbandoned = false;
  Status status;
  ncclComm_t communicator = nullptr;

  void finish(const Status &result, ncclComm_t made) {
    std::lock_guard<std::mutex> lock(mutex);
    if (isAbandoned && made)
      (void)ncclCommAbort(made);
    isDone = true;
    status = result;
    communicator = made;
    changed.notify_all();
  }
};

} // namespace

NcclCommunicators::~NcclCommunicators() {
  for (size_t i = groups.size(); i-- > 0;)
    (void)ncclCommDestroy(groups[i].communicator);
  if (everyone)
    (void)ncclCommDestroy(everyone);
}

Status NcclCommunicators::meetAll(const Call &call) {
  std::vector<int64_t> ranks(size_t(world.mesh.numRanks()));
  std::iota(ranks.begin(), ranks.end(), int64_t(0));
  return meetings.meet(call, rank, ranks);
}

Status NcclCommunicators::create(const ncclUniqueId &id) {
  Call beginning;
  beginning.kind = CallKind::event_record;
  beginning.name = "the beginning of the run";
  beginning.command = EventCommand();
  TPSP_TRY(meetAll(beginning));
  return makeBounded(
      [id, ranks = int(world.mesh.numRanks()),
       rank = int(rank)](ncclComm_t &out) -> Status {
        TPSP_NCCL(nullptr, ncclCommInitRank, &out, ranks, id, rank);
        return {};
      },
      everyone);
}

Status NcclCommunicators::makeBounded(Make make, ncclComm_t &out) const {
  auto attempt = std::make_shared<Attempt>();
  std::thread maker;
  try {
    maker = std::thread([attempt, make, device = device] {
      ncclComm_t made = nullptr;
      Status status = checkCuda(cudaSetDevice(device), "cudaSetDevice");
      if (status.ok())
        status = make(made);
      attempt->finish(status, made);
    });
  } catch (const std::system_error &error) {
    return {TPSP_RT_INTERNAL,
            fmt::format("cannot start a thread for NCCL: {}", error.what())};
  }
  auto end = std::chrono::steady_clock::now() +
             std::chrono::duration<double>(world.config.timeoutSeconds);
  std::unique_lock<std::mutex> lock(attempt->mutex);
  while (!attempt->isDone && !aborted && std::chrono::steady_clock::now() < end)
    attempt->changed.wait_for(lock, std::chrono::milliseconds(10));
  if (attempt->isDone) {
    lock.unlock();
    maker.join();
    out = attempt->communicator;
    return attempt->status;
  }
  attempt->isAbandoned = true;
  maker.detach();
  if (aborted)
    return {TPSP_RT_ABORTED, "another rank or stream failed"};
  return {TPSP_RT_TIMEOUT,
          fmt::format("waited {:.1f} s for NCCL to make a communicator",
                      world.config.timeoutSeconds)};
}

Status NcclCommunicators::find(const Call &call, ncclComm_t &out) {
  for (const Group &group : groups)
    if (group.stream == call.stream && group.ranks == call.group.ranks) {
      out = group.communicator;
      return {};
    }
  TPSP_TRY(meetAll(call));
  const std::vector<int64_t> &ranks = call.group.ranks;
  int color = int(*std::min_element(ranks.begin(), ranks.end()));
  ncclComm_t fresh = nullptr;
  TPSP_TRY(makeBounded(
      [parent = everyone, color,
       key = int(call.group.self)](ncclComm_t &made) -> Status {
        TPSP_NCCL(parent, ncclCommSplit, parent, color, key, &made,
                  /*config=*/nullptr);
        return {};
      },
      fresh));
  groups.push_back({call.stream, ranks, fresh});
  out = fresh;
  return {};
}

Status NcclCommunicators::poll() const {
  auto check = [](ncclComm_t communicator) -> Status {
    ncclResult_t result = ncclSuccess;
    TPSP_NCCL(communicator, ncclCommGetAsyncError, communicator, &result);
    return checkNccl(result == ncclInProgress ? ncclSuccess : result,
                     "a collective of NCCL", communicator);
  };
  if (everyone)
    TPSP_TRY(check(everyone));
  for (const Group &group : groups)
    TPSP_TRY(check(group.communicator));
  return {};
}

void NcclCommunicators::abort() {
  for (size_t i = groups.size(); i-- > 0;)
    (void)ncclCommAbort(groups[i].communicator);
  groups.clear();
  if (everyone)
    (void)ncclCommAbort(everyone);
  everyone = nullptr;
}

} // namespace tpsp::rt
