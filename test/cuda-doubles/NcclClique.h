/// Shared by the ranks of a communicator of NCCL's double.
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

/// A message in flight.
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
  /// The current collective's operations, by rank. Shared, because an aborted
  /// rank may be destroyed before the others notice.
  std::vector<std::shared_ptr<const Operation>> here;
  int arrived = 0;
  uint64_t phase = 0;
  std::map<std::pair<int, int>, std::deque<std::shared_ptr<Message>>> boxes;
  ncclResult_t error = ncclSuccess;
  std::vector<int> devices;
  /// For each rank, the collectives that it has begun, and those that another
  /// rank has begun and it has not.
  std::vector<int> begun, owed;
  /// For a split: color and key by rank, and the new cliques by color.
  std::vector<std::pair<int, int>> wishes;
  std::map<int, std::shared_ptr<Clique>> parts;

  int size() const { return int(here.size()); }
  /// Notes that rank `rank` begins its next collective.
  void begin(size_t rank);
};

} // namespace tpsp::doubles

#endif // TPSP_TEST_CUDADOUBLES_NCCLCLIQUE_H
