/// Streams, events and captures of the double: a stream is a queue that a
/// thread of its own works off in order.
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

/// Something that happens once: what a recorded event stands for.
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
/// operation of a lane comes behind the lane's last; a wait behind its record.
struct Capture {
  enum class Kind { Task, Record, Wait };
  struct Operation {
    Kind kind;
    int lane;
    /// Of a record, and of the wait for it.
    int slot;
    std::function<void()> task;
  };
  std::vector<Operation> operations;
  std::vector<CUstream_st *> lanes;
  /// As the streams', by lane.
  std::vector<int> priorities;
  int slots = 0;
  bool isInvalid = false;

  /// Whether every operation is behind the origin's last.
  bool isJoined() const;
};

struct CUevent_st {
  std::mutex mutex;
  /// The last record; null: none yet, which counts as reached.
  MomentRef moment;
  /// Recorded within a capture: where.
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
  /// For the lanes behind the first, which is the stream of the launch.
  std::vector<std::unique_ptr<CUstream_st>> lanes;
  bool isUploaded = false;
};

/// cudaErrorNotReady, which then is the thread's last error.
cudaError_t doubleNotReady();

/// Waits until the streams of the thread's GPU are idle; false if they are not
/// in a few seconds: a test shall fail then, and not hang.
bool waitForDevice();

/// The stream's collectives are seen to have ended.
void doubleSawEnd(cudaStream_t stream);

/// Notes tpspDoubleStuck if it is that on the thread's GPU.
void doubleAllocatesOrLoads();

/// The capture that this thread has begun, if any.
extern thread_local std::weak_ptr<Capture> ownCapture;

/// Whether this thread captures, which then is broken: the call at hand is not
/// allowed meanwhile.
bool breaksCapture();

#endif // TPSP_TEST_CUDADOUBLES_DOUBLESTREAM_H
