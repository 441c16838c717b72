#include "NcclCommunicators.h"

#include <algorithm>
#include <numeric>

namespace tpsp::rt {

NcclCommunicators::~NcclCommunicators() {
  for (auto &entry : groups)
    (void)ncclCommDestroy(entry.second);
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
  TPSP_NCCL(nullptr, ncclCommInitRank, &everyone, int(world.mesh.numRanks()),
            id, int(rank));
  return {};
}

Status NcclCommunicators::find(const Call &call, ncclComm_t &out) {
  auto known = groups.find({call.stream, call.group.ranks});
  if (known != groups.end()) {
    out = known->second;
    return {};
  }
  TPSP_TRY(meetAll(call));
  const std::vector<int64_t> &ranks = call.group.ranks;
  int color = int(*std::min_element(ranks.begin(), ranks.end()));
  ncclComm_t fresh = nullptr;
  TPSP_NCCL(everyone, ncclCommSplit, everyone, color, int(call.group.self),
            &fresh, /*config=*/nullptr);
  groups[{call.stream, ranks}] = fresh;
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
  for (const auto &entry : groups)
    TPSP_TRY(check(entry.second));
  return {};
}

void NcclCommunicators::abort() {
  for (auto &entry : groups)
    (void)ncclCommAbort(entry.second);
  groups.clear();
  if (everyone)
    (void)ncclCommAbort(everyone);
  everyone = nullptr;
}

} // namespace tpsp::rt
