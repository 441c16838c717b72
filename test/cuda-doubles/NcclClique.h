/// What the ranks of a communicator of NCCL's double share.
#ifndef TPSP_TEST_CUDADOUBLES_NCCLCLIQUE_H
#define TPSP_TEST_CUDADOUBLES_NCCLCLIQUE_H

#include <nccl.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace tpsp::doubles {

enum class Kind { AllReduce, AllGather, ReduceScatter, Send, Receive };

struct Operation {
  Kind kind;
  const char *source;
  char *target;
  size_t count;
  ncclDataType_t type;
  ncclRedOp_t reduction;
  int peer;
  ncclComm_t communicator;
  cudaStream_t stream;
};

/// A message on its way.
struct Message {
  const char *data;
  size_t bytes;
  bool isTaken = false;
};

/// The ranks of a communicator.
struct Clique {
  explicit Clique(int size)
      : here(size), devices(size, -1), begun(size), owed(size) {}
  ~Clique();

  std::mutex mutex;
  std::condition_variable changed;
  /// Of the collective at hand, by rank. A rank that was aborted is gone before
  /// the others notice.
  std::vector<std::shared_ptr<const Operation>> here;
  int arrived = 0;
  uint64_t phase = 0;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> boxes;
  ncclResult_t error = ncclSuccess;
  std::vector<int> devices;
  /// By rank: collectives that it has begun, and how often another has begun
  /// one that it has not.
  std::vector<int> begun, owed;
  /// Of a split: color and key, by rank; and what comes out, by color.
  std::vector<std::pair<int, int>> wishes;
  std::map<int, std::shared_ptr<Clique>> parts;

  int size() const { return int(here.size()); }
  /// Rank `rank` begins its next collective.
  void begin(size_t rank);
};

} // namespace tpsp::doubles

#endif // TPSP_TEST_CUDADOUBLES_NCCLCLIQUE_H
