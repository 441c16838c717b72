/// Streams, events and captures of the double. A stream is a queue that its own
/// thread works off in order.
#ifndef TPSP_TEST_CUDADOUBLES_DOUBLESTREAM_H
#define TPSP_TEST_CUDADOUBLES_DOUBLESTREAM_H

#include "Doubles.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

/// A point in time that is reached once, such as a recorded event.
class Moment {
public:
  void reach();
  void wait();
  bool isReached();
  double milliseconds();

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool reached = false;
  double time = 0;
};

using MomentRef = std::shared_ptr<Moment>;

/// The operations of a captured graph, in the order of their capture. An
/// operation runs after the last one of its lane; a wait also after its record.
struct Capture {
  enum class Kind { Task, Record, Wait };
  struct Operation {
    Kind kind;
    int lane;
    /// Number of a record, which the wait for it shares.
    int slot;
    std::function<void()> task;
  };
  std::vector<Operation> operations;
  std::vector<CUstream_st *> lanes;
  /// The priorities of the streams, by lane.
  std::vector<int> priorities;
  int slots = 0;
  bool isInvalid = false;

  /// Whether the origin's last operation comes after all others.
  bool isJoined() const;
};

struct CUevent_st {
  std::mutex mutex;
  /// The last record. Null if there is none yet, which counts as reached.
  MomentRef moment;
  /// The capture within which the event was recorded, if it was.
  std::shared_ptr<Capture> capture;
  int slot = 0;
  bool measures = false;
};

struct CUstream_st {
  ~CUstream_st();
  void push(std::function<void()> task);
  bool isIdle();
  void drain();

  std::shared_ptr<Capture> capture;
  int lane = 0;
  int device = 0, priority = 0;
  std::atomic<cudaError_t> error{cudaSuccess};

private:
  void loop();

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool isRunning = false, isStopping = false;
  std::thread thread;
};

struct CUgraph_st {
  std::shared_ptr<Capture> capture;
};

struct CUgraphExec_st {
  std::shared_ptr<Capture> capture;
  /// Streams for all lanes but the first, which is the stream of the launch.
  std::vector<std::unique_ptr<CUstream_st>> lanes;
  bool isUploaded = false;
};

/// Returns cudaErrorNotReady and makes it the thread's last error.
cudaError_t doubleNotReady();

/// Waits until the streams of the thread's GPU are idle. Returns false after a
/// few seconds, so that a test fails instead of hanging.
bool waitForDevice();

/// Notes that a caller has waited for the end of the stream's collectives.
void doubleSawEnd(cudaStream_t stream);

/// Notes an allocation or a load: counts tpspDoubleStuck if the thread's GPU
/// has collectives to wait for.
void doubleAllocatesOrLoads();

/// The capture that this thread has begun, if any.
extern thread_local std::weak_ptr<Capture> ownCapture;

/// Invalidates this thread's capture, if any, because the current call is not
/// allowed in it. Returns whether there is one.
bool breaksCapture();

#endif // TPSP_TEST_CUDADOUBLES_DOUBLESTREAM_H
