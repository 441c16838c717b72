// Tracks NCCL's collectives in flight, and counts calls during which the driver
// may wait for them. It follows the order of calls, not time.
#include "DoubleStream.h"

#include <map>
#include <set>

namespace {

struct Collectives {
  std::mutex mutex;
  /// Streams with collectives whose end no caller has waited for.
  std::set<cudaStream_t> unseen;
  /// For each GPU, collectives of other GPUs that wait for it.
  std::map<int, int> awaited;
  int version = 0;
};

Collectives &collectives() {
  static auto *instance = new Collectives;
  return *instance;
}

} // namespace

void tpspDoubleSetNcclVersion(int version) { collectives().version = version; }
int tpspDoubleNcclVersion() { return collectives().version; }

bool tpspDoubleBeginCollective(cudaStream_t stream) {
  if (stream->capture)
    return false;
  std::lock_guard<std::mutex> lock(collectives().mutex);
  collectives().unseen.insert(stream);
  return true;
}

void tpspDoubleAwait(int device, int change) {
  std::lock_guard<std::mutex> lock(collectives().mutex);
  collectives().awaited[device] += change;
}

void doubleSawEnd(cudaStream_t stream) {
  std::lock_guard<std::mutex> lock(collectives().mutex);
  collectives().unseen.erase(stream);
}

void doubleAllocatesOrLoads() {
  int device = 0;
  (void)cudaGetDevice(&device);
  std::unique_lock<std::mutex> lock(collectives().mutex);
  bool isStuck = collectives().awaited[device] > 0;
  for (cudaStream_t stream : collectives().unseen)
    isStuck |= stream->device == device;
  lock.unlock();
  if (isStuck)
    (void)tpspDoubleEnter(tpspDoubleStuck);
}
