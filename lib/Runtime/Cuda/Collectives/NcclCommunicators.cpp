#include "NcclCommunicators.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <system_error>
#include <thread>

namespace tpsp::rt {

/// Work on a thread of its own, which may outlive the wait for it.
struct NcclCommunicators::Errand {
  std::mutex mutex;
  std::condition_variable changed;
  bool isDone = false;

  void finish() {
    std::lock_guard<std::mutex> lock(mutex);
    isDone = true;
    changed.notify_all();
  }

  /// Waits until the work is done, `end` is reached or `isOver`. Returns
  /// whether it is done.
  template <typename Stop>
  bool wait(Clock::time_point end, const Stop &isOver) {
    std::unique_lock<std::mutex> lock(mutex);
    while (!isDone && !isOver() && Clock::now() < end)
      changed.wait_for(lock, std::chrono::milliseconds(10));
    return isDone;
  }
};

/// A communicator that is being created.
struct NcclCommunicators::Attempt : Errand {
  Status status;
  ncclComm_t communicator = nullptr;
  bool isAbandoned = false;

  void finish(const Status &result, ncclComm_t made) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      status = result;
      communicator = isAbandoned ? nullptr : made;
    }
    // The waiting thread has left, so it will not destroy the communicator.
    if (made && !communicator)
      (void)ncclCommAbort(made);
    Errand::finish();
  }

  /// Returns false if the creation has ended after all.
  bool abandon() {
    std::lock_guard<std::mutex> lock(mutex);
    isAbandoned = !isDone && !communicator;
    return isAbandoned;
  }
};

NcclCommunicators::~NcclCommunicators() {
  endAbort();
  for (size_t i = groups.size(); i-- > 0;)
    (void)ncclCommDestroy(groups[i].communicator);
  if (everyone)
    (void)ncclCommDestroy(everyone);
}

/// A call for a meeting that is of no command.
static Call callNamed(const char *name) {
  Call call;
  call.kind = CallKind::event_record;
  call.name = name;
  call.command = EventRecordCommand();
  return call;
}

Status NcclCommunicators::meetAll(const Call &call) {
  std::vector<int64_t> ranks(size_t(world.mesh.numRanks()));
  std::iota(ranks.begin(), ranks.end(), int64_t(0));
  return meetings.meet(call, rank, ranks);
}

Status NcclCommunicators::create(const ncclUniqueId &id) {
  TPSP_TRY(meetAll(callNamed("the beginning of the run")));
  return makeBounded(
      [id, ranks = int(world.mesh.numRanks()),
       rank = int(rank)](ncclComm_t &out) -> Status {
        TPSP_NCCL(nullptr, ncclCommInitRank, &out, ranks, id, rank);
        return {};
      },
      everyone);
}

Status NcclCommunicators::makeBounded(Make make, ncclComm_t &out) {
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
  if (attempt->wait(timeout(), [&] { return aborted.load(); }) ||
      !attempt->abandon()) {
    maker.join();
    out = attempt->communicator;
    return attempt->status;
  }
  maker.detach();
  abandoned.push_back(attempt);
  if (aborted)
    return abortedByAnother();
  return {TPSP_RT_TIMEOUT,
          fmt::format("waited {:.1f} s for NCCL to make a communicator",
                      world.config.timeoutSeconds)};
}

ncclComm_t NcclCommunicators::known(int64_t stream,
                                    const RankGroup &group) const {
  for (const Group &each : groups)
    if (each.stream == stream && each.ranks == group.ranks)
      return each.communicator;
  return nullptr;
}

Status NcclCommunicators::split(int64_t stream, const RankGroup &group) {
  const std::vector<int64_t> &ranks = group.ranks;
  int color = ranks.empty()
                  ? NCCL_SPLIT_NOCOLOR
                  : int(*std::min_element(ranks.begin(), ranks.end()));
  ncclComm_t fresh = nullptr;
  TPSP_TRY(makeBounded(
      [parent = everyone, color,
       key = int(group.self)](ncclComm_t &made) -> Status {
        TPSP_NCCL(parent, ncclCommSplit, parent, color, key, &made,
                  /*config=*/nullptr);
        return {};
      },
      fresh));
  if (fresh)
    groups.push_back({stream, ranks, fresh});
  return {};
}

Status NcclCommunicators::find(const Call &call, ncclComm_t &out) {
  out = known(call.stream, call.group);
  if (out)
    return {};
  TPSP_TRY(meetAll(call));
  TPSP_TRY(split(call.stream, call.group));
  out = groups.back().communicator;
  return {};
}

Status NcclCommunicators::prepare(const std::vector<GroupUse> &uses) {
  const Call call = callNamed("the first step of a plan with stages");
  TPSP_TRY(meetAll(call));
  for (const GroupUse &use : uses)
    if (prepared.insert(use.key).second)
      TPSP_TRY(split(use.stream, use.group));
  // No rank communicates while NCCL still allocates memory on another.
  return meetAll(call);
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

NcclCommunicators::Clock::time_point NcclCommunicators::timeout() const {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(
             std::chrono::duration<double>(world.config.timeoutSeconds));
}

void NcclCommunicators::beginAbort() {
  if (!everyone)
    return;
  std::vector<ncclComm_t> all;
  for (size_t i = groups.size(); i-- > 0;)
    all.push_back(groups[i].communicator);
  all.push_back(everyone);
  groups.clear();
  everyone = nullptr;
  ending = std::make_shared<Errand>();
  try {
    helper = std::thread([ending = ending, all, abandoned = abandoned,
                          device = device, end = timeout()] {
      (void)cudaSetDevice(device);
      abortTogether(all, abandoned, end);
      ending->finish();
    });
  } catch (const std::system_error &) {
    // Commands that wait on the GPU are left waiting.
  }
}

/// Aborts all communicators in one group. Aborting them one after another would
/// wait for each. The first one's kernels may be behind kernels of the last on
/// a stream, which have not been told to end. In a group, all are told first.
void NcclCommunicators::abortTogether(
    const std::vector<ncclComm_t> &communicators,
    const std::vector<std::shared_ptr<Attempt>> &users, Clock::time_point end) {
  (void)ncclGroupStart();
  for (ncclComm_t each : communicators)
    (void)ncclCommAbort(each);
  // A thread that still splits a communicator has been told too, and uses the
  // communicator until it notices. If it does not end, the communicators are
  // never freed.
  for (const std::shared_ptr<Attempt> &user : users)
    if (!user->wait(end, [] { return false; }))
      return;
  (void)ncclGroupEnd();
}

void NcclCommunicators::endAbort() {
  if (!helper.joinable())
    return;
  if (ending->wait(timeout(), [] { return false; }))
    helper.join();
  else
    helper.detach();
}

} // namespace tpsp::rt
