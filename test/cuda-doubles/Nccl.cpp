// NCCL between threads of one process. Each call does as documented. Operations
// wait for a missing rank until the communicator is aborted.
#include "Doubles.h"
#include "NcclArithmetic.h"
#include "NcclClique.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

using tpsp::doubles::Clique;
using tpsp::doubles::combineAt;
using tpsp::doubles::Kind;
using tpsp::doubles::Message;
using tpsp::doubles::Operation;
using tpsp::doubles::widthOf;

struct ncclComm {
  std::shared_ptr<Clique> clique;
  int rank;
  std::shared_ptr<bool> isAborted = std::make_shared<bool>(false);
  /// Shared by kernels that have not run yet, and by graphs with kernels of
  /// this communicator.
  std::shared_ptr<int> use = std::make_shared<int>();
  /// Calls in progress that split it, on threads of their own.
  std::atomic<int> splits{0};

  ncclComm(std::shared_ptr<Clique> clique, int rank)
      : clique(std::move(clique)), rank(rank) {}
};

namespace {

/// A rank's side of an operation, on its stream's thread.
class Member {
public:
  explicit Member(const ncclComm &communicator)
      : clique(communicator.clique), rank(communicator.rank),
        isAborted(communicator.isAborted), use(communicator.use) {}

  void run(const std::vector<Operation> &operations);

private:
  /// Waits for all ranks. Returns false if aborted.
  bool sync(std::unique_lock<std::mutex> &lock);
  bool collective(const Operation &operation);
  bool agree(const Operation &operation);
  void compute(const Operation &operation, std::vector<char> &out) const;
  bool receive(const Operation &operation);
  void fail() { clique->error = ncclInvalidUsage; }

  std::shared_ptr<Clique> clique;
  int rank;
  std::shared_ptr<bool> isAborted;
  std::shared_ptr<int> use;
};

bool Member::sync(std::unique_lock<std::mutex> &lock) {
  uint64_t entered = clique->phase;
  if (++clique->arrived == clique->size()) {
    clique->arrived = 0;
    ++clique->phase;
    clique->changed.notify_all();
  }
  clique->changed.wait(lock,
                       [&] { return clique->phase != entered || *isAborted; });
  return !*isAborted;
}

bool Member::agree(const Operation &mine) {
  for (const auto &other : clique->here)
    if (other->kind != mine.kind || other->count != mine.count ||
        other->type != mine.type || other->reduction != mine.reduction)
      return false;
  return true;
}

void Member::compute(const Operation &mine, std::vector<char> &out) const {
  size_t width = widthOf(mine.type), bytes = mine.count * width;
  if (mine.kind == Kind::AllGather) {
    for (const auto &each : clique->here)
      out.insert(out.end(), each->source, each->source + bytes);
    return;
  }
  size_t offset = mine.kind == Kind::ReduceScatter ? size_t(rank) * bytes : 0;
  const char *first = clique->here[0]->source + offset;
  out.assign(first, first + bytes);
  for (int q = 1; q < clique->size(); ++q)
    for (size_t i = 0; i < bytes; i += width)
      combineAt(mine.type, out.data() + i,
                clique->here[size_t(q)]->source + offset + i,
                mine.reduction == ncclMax);
}

bool Member::collective(const Operation &operation) {
  std::unique_lock<std::mutex> lock(clique->mutex);
  clique->here[size_t(rank)] = std::make_shared<Operation>(operation);
  if (!sync(lock))
    return false;
  // The real NCCL computes nonsense or hangs.
  if (!agree(operation)) {
    fail();
    return false;
  }
  std::vector<char> result;
  lock.unlock();
  compute(operation, result);
  lock.lock();
  // All ranks have read their sources, so a destination may be a source.
  if (!sync(lock))
    return false;
  std::memcpy(operation.target, result.data(), result.size());
  return true;
}

bool Member::receive(const Operation &operation) {
  std::unique_lock<std::mutex> lock(clique->mutex);
  auto &box = clique->boxes[{operation.peer, rank}];
  clique->changed.wait(lock, [&] { return !box.empty() || *isAborted; });
  if (*isAborted)
    return false;
  std::shared_ptr<Message> message = box.front();
  box.pop_front();
  if (message->bytes != operation.count * widthOf(operation.type)) {
    fail();
    return false;
  }
  std::memcpy(operation.target, message->data, message->bytes);
  message->isTaken = true;
  clique->changed.notify_all();
  return true;
}

void Member::run(const std::vector<Operation> &operations) {
  std::vector<std::shared_ptr<Message>> sent;
  {
    std::lock_guard<std::mutex> lock(clique->mutex);
    for (const Operation &each : operations)
      if (each.kind == Kind::Send) {
        sent.push_back(std::make_shared<Message>(
            Message{each.source, each.count * widthOf(each.type)}));
        clique->boxes[{rank, each.peer}].push_back(sent.back());
      }
    clique->changed.notify_all();
  }
  for (const Operation &each : operations) {
    if (each.kind == Kind::Send)
      continue;
    if (each.kind == Kind::Receive ? !receive(each) : !collective(each))
      return;
  }
  std::unique_lock<std::mutex> lock(clique->mutex);
  for (const auto &message : sent)
    clique->changed.wait(lock, [&] { return message->isTaken || *isAborted; });
}

thread_local int groupDepth = 0;
thread_local std::vector<Operation> pending;

/// Enqueues the operations since the group began, as one task on their stream.
ncclResult_t flush() {
  std::vector<Operation> operations;
  operations.swap(pending);
  if (operations.empty())
    return ncclSuccess;
  ncclComm_t communicator = operations[0].communicator;
  for (const Operation &each : operations)
    if (each.communicator != communicator ||
        each.stream != operations[0].stream)
      return ncclInvalidUsage; // the backend does not do that
  if (tpspDoubleBeginCollective(operations[0].stream))
    communicator->clique->begin(size_t(communicator->rank));
  auto member = std::make_shared<Member>(*communicator);
  cudaError_t result = doubleEnqueue(
      operations[0].stream, [member, operations] { member->run(operations); });
  return result == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t add(const Operation &operation) {
  if (!operation.communicator)
    return ncclInvalidArgument;
  pending.push_back(operation);
  return groupDepth > 0 ? ncclSuccess : flush();
}

/// Communicators that the group is to free.
thread_local std::vector<ncclComm_t> leaving;

/// Frees communicators when no kernel of theirs waits on a stream and no graph
/// has any. The real NCCL waits for that without end; here they are kept after
/// a while and show among the live objects. A communicator that is being split
/// is kept, too; the real NCCL would free it all the same.
void reclaim() {
  std::vector<ncclComm_t> all;
  all.swap(leaving);
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  for (ncclComm_t each : all) {
    if (each->splits > 0)
      continue;
    while (each->use.use_count() > 1 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    if (each->use.use_count() > 1)
      continue;
    delete each;
    tpspDoubleCountObjects(-1);
  }
}

ncclResult_t leave(ncclComm_t communicator) {
  leaving.push_back(communicator);
  if (groupDepth == 0)
    reclaim();
  return ncclSuccess;
}

/// Cliques that are being made, by id.
struct Makings {
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<Clique>> cliques;
  int ids = 0;
};
Makings &makings() {
  static auto *instance = new Makings;
  return *instance;
}

/// Waits for all ranks, without a limit.
bool joinAll(Clique &clique, int rank, int device) {
  std::unique_lock<std::mutex> lock(clique.mutex);
  clique.devices[size_t(rank)] = device;
  uint64_t entered = clique.phase;
  if (++clique.arrived == clique.size()) {
    clique.arrived = 0;
    ++clique.phase;
    clique.changed.notify_all();
  }
  clique.changed.wait(lock, [&] { return clique.phase != entered; });
  for (size_t i = 0; i < clique.devices.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (clique.devices[i] == clique.devices[j])
        return false;
  return true;
}

} // namespace

TPSP_DOUBLE const char *ncclGetErrorString(ncclResult_t result) {
  return result == ncclSystemError    ? "unhandled system error"
         : result == ncclInvalidUsage ? "invalid usage"
                                      : "an error";
}

TPSP_DOUBLE const char *ncclGetLastError(ncclComm_t) { return ""; }

TPSP_DOUBLE ncclResult_t ncclGetVersion(int *version) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  int asked = tpspDoubleNcclVersion();
  *version = asked ? asked : NCCL_VERSION_CODE;
  return ncclSuccess;
}

TPSP_DOUBLE ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  std::lock_guard<std::mutex> lock(makings().mutex);
  *id = {};
  std::strcpy(id->internal, std::to_string(++makings().ids).c_str());
  return ncclSuccess;
}

TPSP_DOUBLE ncclResult_t ncclCommInitRank(ncclComm_t *out, int ranks,
                                          ncclUniqueId id, int rank) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  std::shared_ptr<Clique> clique;
  {
    std::lock_guard<std::mutex> lock(makings().mutex);
    std::shared_ptr<Clique> &known = makings().cliques[id.internal];
    if (!known)
      known = std::make_shared<Clique>(ranks);
    clique = known;
  }
  int device = 0;
  (void)cudaGetDevice(&device);
  if (!joinAll(*clique, rank, device))
    return ncclInvalidUsage; // "Duplicate GPU detected"
  *out = new ncclComm{clique, rank};
  tpspDoubleCountObjects(1);
  return ncclSuccess;
}

TPSP_DOUBLE ncclResult_t ncclCommSplit(ncclComm_t parent, int color, int key,
                                       ncclComm_t *out, ncclConfig_t *) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  // Does not keep the parent itself. reclaim() finds out if it is freed
  // meanwhile.
  std::shared_ptr<Clique> kept = parent->clique;
  std::shared_ptr<bool> isAborted = parent->isAborted;
  int self = parent->rank;
  Clique &whole = *kept;
  std::unique_lock<std::mutex> lock(whole.mutex);
  whole.wishes.resize(whole.here.size());
  whole.wishes[size_t(self)] = {color, key};
  ++parent->splits;
  auto sync = [&] {
    uint64_t entered = whole.phase;
    if (++whole.arrived == whole.size()) {
      whole.arrived = 0;
      ++whole.phase;
      whole.changed.notify_all();
    }
    whole.changed.wait(lock,
                       [&] { return whole.phase != entered || *isAborted; });
    return whole.phase != entered;
  };
  if (!sync()) {
    // The real NCCL takes longer here.
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    --parent->splits;
    return ncclInternalError;
  }
  if (color == NCCL_SPLIT_NOCOLOR) {
    *out = nullptr;
    (void)sync();
    --parent->splits;
    return ncclSuccess;
  }
  int rank = 0, size = 0;
  for (int q = 0; q < whole.size(); ++q) {
    if (whole.wishes[size_t(q)].first != color)
      continue;
    ++size;
    int other = whole.wishes[size_t(q)].second;
    rank += other < key || (other == key && q < self);
  }
  std::shared_ptr<Clique> &part = whole.parts[color];
  if (!part)
    part = std::make_shared<Clique>(size);
  part->devices[size_t(rank)] = whole.devices[size_t(self)];
  *out = new ncclComm{part, rank};
  tpspDoubleCountObjects(1);
  (void)sync();
  --parent->splits;
  whole.parts.clear();
  return ncclSuccess;
}

TPSP_DOUBLE ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  return leave(communicator);
}

TPSP_DOUBLE ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  {
    std::lock_guard<std::mutex> lock(communicator->clique->mutex);
    *communicator->isAborted = true;
    communicator->clique->changed.notify_all();
  }
  return leave(communicator);
}

TPSP_DOUBLE ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator,
                                               ncclResult_t *error) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  std::lock_guard<std::mutex> lock(communicator->clique->mutex);
  *error = communicator->clique->error;
  return ncclSuccess;
}

TPSP_DOUBLE ncclResult_t ncclGroupStart() {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  ++groupDepth;
  return ncclSuccess;
}

TPSP_DOUBLE ncclResult_t ncclGroupEnd() {
  bool fails = tpspDoubleEnter(__func__);
  if (groupDepth == 0)
    return ncclInvalidUsage;
  if (--groupDepth > 0)
    return ncclSuccess;
  reclaim();
  if (!fails)
    return flush();
  pending.clear();
  return ncclSystemError;
}

TPSP_DOUBLE ncclResult_t ncclAllReduce(const void *source, void *target,
                                       size_t count, ncclDataType_t type,
                                       ncclRedOp_t reduction,
                                       ncclComm_t communicator,
                                       cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  return add({Kind::AllReduce, static_cast<const char *>(source),
              static_cast<char *>(target), count, type, reduction, 0,
              communicator, stream});
}

TPSP_DOUBLE ncclResult_t ncclAllGather(const void *source, void *target,
                                       size_t count, ncclDataType_t type,
                                       ncclComm_t communicator,
                                       cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  return add({Kind::AllGather, static_cast<const char *>(source),
              static_cast<char *>(target), count, type, ncclSum, 0,
              communicator, stream});
}

TPSP_DOUBLE ncclResult_t ncclReduceScatter(const void *source, void *target,
                                           size_t count, ncclDataType_t type,
                                           ncclRedOp_t reduction,
                                           ncclComm_t communicator,
                                           cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  return add({Kind::ReduceScatter, static_cast<const char *>(source),
              static_cast<char *>(target), count, type, reduction, 0,
              communicator, stream});
}

TPSP_DOUBLE ncclResult_t ncclSend(const void *source, size_t count,
                                  ncclDataType_t type, int peer,
                                  ncclComm_t communicator,
                                  cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  return add({Kind::Send, static_cast<const char *>(source), nullptr, count,
              type, ncclSum, peer, communicator, stream});
}

TPSP_DOUBLE ncclResult_t ncclRecv(void *target, size_t count,
                                  ncclDataType_t type, int peer,
                                  ncclComm_t communicator,
                                  cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return ncclSystemError;
  return add({Kind::Receive, nullptr, static_cast<char *>(target), count, type,
              ncclSum, peer, communicator, stream});
}
