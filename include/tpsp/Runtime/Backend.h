/// What a backend implements: memory, matmuls, kernels and collectives of one
/// kind of device.
///
/// The Core decodes and checks every command, then gives it to
/// BackendRank::run on the rank's thread, in program order. `run` enqueues the
/// command on its stream and may return before it has run. The order within a
/// stream and that given by events must hold. `cpu` runs stream 0 on the rank's
/// own thread and has a thread for each other stream. In CUDA's terms a stream
/// is a cudaStream_t, and event_record and event_wait are cudaEventRecord and
/// cudaStreamWaitEvent. A group on a stream is an NCCL communicator;
/// synchronize is cudaDeviceSynchronize.
#ifndef TPSP_RUNTIME_BACKEND_H
#define TPSP_RUNTIME_BACKEND_H

#include "tpsp/Abi/Calls.h"
#include "tpsp/Abi/Status.h"
#include "tpsp/Runtime/CommandObserver.h"
#include "tpsp/Runtime/WorldConfig.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tpsp::rt {

/// What a backend keeps with a command from one step to the next: a oneDNN
/// primitive, a communicator.
struct CommandState {
  virtual ~CommandState() = default;
};

/// One command of a plan, decoded and checked for one rank. Owned by the Core,
/// made on the command's first use and kept, so that later steps allocate
/// nothing.
struct Call {
  CallKind kind;
  /// What it was made from: a plan's constant data.
  const tpsp_rt_command *origin = nullptr;
  /// For people; never empty.
  std::string name;
  int64_t id = 0, stream = 0;
  /// As encoded. Ranks that meet in a collective have equal ones.
  Params params;
  AnyCommand command;
  /// Byte offsets into the arena; inside it, and aligned to the element. Where
  /// a command names a tile counted from the rank's own, that tile.
  std::vector<int64_t> buffers;
  /// The command's own buffers and tiles.
  std::vector<int64_t> offsets, tiles;
  /// Kernels: for a CPU, never null, and for a GPU, null in plans that were
  /// not made for one.
  tpsp_rt_kernel_function kernel = nullptr;
  const tpsp_rt_device_kernel *device = nullptr;
  /// The group of the command's axes; of kernels, matmuls and events the rank
  /// alone.
  RankGroup group;
  /// Where this rank's parts of indices start: of kernels, one for each of the
  /// command's; of attention, that of the queries.
  std::vector<int64_t> positions;
  /// The backend's own; null on the first use.
  std::unique_ptr<CommandState> state;
};

/// One line about a call, stable enough to be tested against:
/// `all_gather axes=tp outer=1 chunk=512 f32 src@0 dst@8192 "%xn"`.
std::string describe(const Call &call, const RankMesh &mesh);

/// `failure` with the call's name before its message.
Status inCall(const Call &call, const Status &failure);

/// What pending and later commands return once another has failed.
inline Status abortedByAnother() {
  return {TPSP_RT_ABORTED, "another rank or stream failed"};
}

/// A step as a backend has recorded it: a CUDA graph.
struct RecordedStep {
  virtual ~RecordedStep() = default;
};

/// One rank's side of a backend. Made, used and destroyed on the rank's
/// thread.
class BackendRank {
public:
  virtual ~BackendRank() = default;

  /// Enqueues the call: visits `call.command`. The Core has checked that a
  /// wait's event was recorded in this step. UNSUPPORTED if the backend cannot
  /// do this.
  virtual Status run(Call &call) = 0;

  /// Returns when everything enqueued has run, with its first failure. The
  /// Core also calls it before each step but the first of a run.
  virtual Status synchronize() = 0;

  /// What the streams that run beside the rank's thread are at, in clauses
  /// (`stream 1 is at all_gather "%xn"`), for messages; "" if they rest. From
  /// any thread.
  virtual std::string streamActivity() { return ""; }

  /// Whether the four below work. A step that has run once may then be issued
  /// between beginRecording and endRecording. That records its commands and
  /// runs none. The step is then replayed as often as wanted. Around all of
  /// them the Core synchronises. Whatever fails leaves the rank as it was, able
  /// to run the step as before.
  virtual bool recordsSteps() const { return false; }
  virtual Status beginRecording() { return cannotRecord(); }
  virtual Status endRecording(std::unique_ptr<RecordedStep> &out) {
    return cannotRecord();
  }
  /// Instead of endRecording, if issuing failed.
  virtual void dropRecording() {}
  /// Enqueues the step.
  virtual Status replay(RecordedStep &step) { return cannotRecord(); }

  /// Copies to and from the arena; ranges are checked, and all earlier commands
  /// have been synchronised with.
  virtual Status write(int64_t offset, const void *source, int64_t bytes) = 0;
  virtual Status read(int64_t offset, void *destination, int64_t bytes) = 0;

  /// Null if the arena is not host memory.
  virtual void *hostAddress(int64_t offset) = 0;

private:
  static Status cannotRecord() {
    return {TPSP_RT_UNSUPPORTED, "this backend records no steps"};
  }
};

/// What the Core tells a backend of the world it is made for. Outlives it.
struct BackendContext {
  /// threadsPerRank is resolved: at least 1.
  WorldConfig config;
  RankMesh mesh;
  /// What rank `rank` did last, for messages: `last issued matmul "%y"`, and
  /// what its streams are at. From any thread.
  std::function<std::string(int64_t rank)> activity;
  /// Ends the run with the failure of a command that was enqueued: the other
  /// ranks' and streams' commands return ABORTED. From any thread.
  std::function<void(int64_t rank, const Status &failure)> failed;
};

/// What the ranks of a world share.
class Backend {
public:
  virtual ~Backend() = default;

  /// Called once for each rank, on its thread. Concurrent.
  virtual Status createRank(int64_t rank,
                            std::unique_ptr<BackendRank> &out) = 0;

  /// Makes pending and later collectives and waits for events return ABORTED
  /// soon. From any thread, any number of times.
  virtual void abort() = 0;

  /// All ranks have returned from a run. Nothing runs meanwhile.
  virtual void runFinished() {}
};

/// Makes a backend, or says why the world cannot be had (no memory, no device).
using BackendFactory =
    std::function<Status(const BackendContext &, std::unique_ptr<Backend> &)>;

/// Adds a backend, or replaces the one of that name. Thread-safe.
void registerBackend(const std::string &name, BackendFactory factory);

/// INVALID with a list of the known names if there is no such backend.
Status findBackend(const std::string &name, BackendFactory &out);

/// In alphabetic order.
std::vector<std::string> backendNames();

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_BACKEND_H
