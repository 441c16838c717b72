/// The interface of backends: memory, matmuls, kernels and collectives of one
/// kind of device.
///
/// The Core decodes and checks every command, then gives it to BackendRank::run
/// on the rank's thread, in program order. `run` enqueues the command on its
/// stream and may return before it has run. The backend must keep the order
/// within a stream and the order that events give. `cpu` runs stream 0 on the
/// rank's own thread and has a thread for each other stream. In CUDA's terms, a
/// stream is a cudaStream_t, and event_record and event_wait are
/// cudaEventRecord and cudaStreamWaitEvent. A group on a stream is an NCCL
/// communicator, and synchronize is cudaDeviceSynchronize.
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

/// State that a backend keeps with a command from one step to the next, such as
/// a oneDNN primitive or a communicator.
struct CommandState {
  virtual ~CommandState() = default;
};

/// One command of a plan, decoded and checked for one rank. The Core owns it.
/// It is made on the command's first use and kept, so that later steps allocate
/// nothing.
struct Call {
  CallKind kind;
  /// The encoded command: constant data of the plan.
  const tpsp_rt_command *origin = nullptr;
  /// The command's name for messages; never empty.
  std::string name;
  int64_t id = 0, stream = 0;
  /// The encoded parameters. They are equal on all ranks that meet in a
  /// collective.
  Params params;
  AnyCommand command;
  /// Byte offsets into the arena, inside it and aligned to the element. If a
  /// command counts tiles from the rank's own tile, the offsets are those of
  /// the tile meant on this rank.
  std::vector<int64_t> buffers;
  /// The buffers and tiles as the command gives them.
  std::vector<int64_t> offsets, tiles, slots;
  /// For each entry of `slots`, the number of the part that the buffer is.
  std::vector<int64_t> slotNumbers;
  /// The micro-batch that it is made for, and whether a position depends on it.
  int64_t microBatch = 0;
  bool dependsOnMicroBatch = false;
  /// For kernels: the function for a CPU, which is never null, and the kernel
  /// for a GPU. The latter is null in plans that were not made for a GPU.
  tpsp_rt_kernel_function kernel = nullptr;
  const tpsp_rt_device_kernel *device = nullptr;
  /// The group of the command's axes. For kernels, matmuls and events it is the
  /// rank alone.
  RankGroup group;
  /// Where this rank's parts of indices start. A kernel has one position for
  /// each of the command's indices, an attention the position of its queries.
  std::vector<int64_t> positions;
  /// State owned by the backend; null on the first use.
  std::unique_ptr<CommandState> state;
};

/// One line about a call, stable enough to be tested against:
/// `all_gather axes=tp outer=1 chunk=512 f32 src@0 dst@8192 "%xn"`.
std::string describe(const Call &call, const RankMesh &mesh);

/// `failure` with the call's name before its message.
Status inCall(const Call &call, const Status &failure);

/// The status of pending and later commands after another command has failed.
inline Status abortedByAnother() {
  return {TPSP_RT_ABORTED, "another rank or stream failed"};
}

/// Ranks that communicate on a stream in a plan with stages. All ranks of a
/// world list the same uses in the same order.
struct GroupUse {
  /// Tells the uses of a plan apart; equal on all ranks.
  std::vector<int64_t> key;
  int64_t stream = 0;
  /// Whether the first rank of the group sends to the second; there are no
  /// others.
  bool isTransfer = false;
  /// Without ranks if this rank is in no such group.
  RankGroup group;
};

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
  /// wait's event was recorded in this step. Returns UNSUPPORTED if the backend
  /// cannot run the command.
  virtual Status run(Call &call) = 0;

  /// Returns when everything enqueued has run, with the first failure. The Core
  /// also calls it before each step of a run except the first.
  virtual Status synchronize() = 0;

  /// For messages: the commands that are running on streams with a thread of
  /// their own, in clauses (`stream 1 is at all_gather "%xn"`); "" if they are
  /// idle. Callable from any thread.
  virtual std::string streamActivity() { return ""; }

  /// Called before each step of a plan whose stages issue commands in orders of
  /// their own, with the groups that communicate in it. `isFirst` says whether
  /// it is the plan's first step. All ranks of the world make the call.
  virtual Status beginOrder(const std::vector<GroupUse> &groups, bool isFirst) {
    return {};
  }

  /// Whether the four functions below work. A step that has run once may then
  /// be issued between beginRecording and endRecording, which records its
  /// commands without running them. The recorded step can be replayed any
  /// number of times. The Core synchronises before and after each of these
  /// calls. After a failure the rank must still be able to run the step without
  /// recording.
  virtual bool recordsSteps() const { return false; }
  virtual Status beginRecording() { return cannotRecord(); }
  virtual Status endRecording(std::unique_ptr<RecordedStep> &out) {
    return cannotRecord();
  }
  /// Called instead of endRecording if issuing the step failed.
  virtual void dropRecording() {}
  /// Enqueues the recorded step.
  virtual Status replay(RecordedStep &step) { return cannotRecord(); }

  /// Copies to and from the arena. The Core has checked the range and has
  /// waited for all earlier commands.
  virtual Status write(int64_t offset, const void *source, int64_t bytes) = 0;
  virtual Status read(int64_t offset, void *destination, int64_t bytes) = 0;

  /// The host address of an arena offset; null if the arena is not host memory.
  virtual void *hostAddress(int64_t offset) = 0;

private:
  static Status cannotRecord() {
    return {TPSP_RT_UNSUPPORTED, "this backend records no steps"};
  }
};

/// The facts about its world that the Core gives a backend. It outlives the
/// backend.
struct BackendContext {
  /// threadsPerRank is resolved: at least 1.
  WorldConfig config;
  RankMesh mesh;
  /// For messages: the last command of rank `rank` (`last issued matmul "%y"`)
  /// and the commands that its streams are running. Callable from any thread.
  std::function<std::string(int64_t rank)> activity;
  /// Ends the run with the failure of a command that was enqueued. Commands of
  /// other ranks and streams then return ABORTED. Callable from any thread.
  std::function<void(int64_t rank, const Status &failure)> failed;
};

/// The part of a backend that all ranks of a world share.
class Backend {
public:
  virtual ~Backend() = default;

  /// Called once for each rank, on the rank's thread; calls may be concurrent.
  virtual Status createRank(int64_t rank,
                            std::unique_ptr<BackendRank> &out) = 0;

  /// Makes pending and later collectives and event waits return ABORTED soon.
  /// Callable from any thread, any number of times.
  virtual void abort() = 0;

  /// Called when all ranks have returned from a run. Nothing runs during the
  /// call.
  virtual void runFinished() {}
};

/// Makes a backend, or says why the world cannot be created (no memory, no
/// device).
using BackendFactory =
    std::function<Status(const BackendContext &, std::unique_ptr<Backend> &)>;

/// Adds a backend, or replaces the backend of that name. Thread-safe.
void registerBackend(const std::string &name, BackendFactory factory);

/// Looks up a backend. INVALID, with a list of the known names, if there is
/// none of this name.
Status findBackend(const std::string &name, BackendFactory &out);

/// The names of all registered backends, in alphabetic order.
std::vector<std::string> backendNames();

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_BACKEND_H
