/// One rank of the CUDA backend: an arena, streams and events of its GPU.
#ifndef TPSP_RUNTIME_CUDA_CUDARANK_H
#define TPSP_RUNTIME_CUDA_CUDARANK_H

#include "CudaWorld.h"
#include "Runtime/Cuda/Attention/CudaAttention.h"
#include "Runtime/Cuda/Collectives/CopyCollectives.h"
#include "Runtime/Cuda/Collectives/NcclCollectives.h"
#include "Runtime/Cuda/Core/StepGraph.h"
#include "Runtime/Cuda/Products/CudaMatmul.h"

#include <chrono>
#include <memory>
#include <vector>

namespace tpsp::rt {

class CudaRank final : public BackendRank {
public:
  CudaRank(CudaWorld &world, int64_t rank);
  ~CudaRank() override;

  /// Called on each rank's thread, by all ranks together.
  Status initialize();

  Status run(Call &call) override;

  /// Waits for all streams, and polls NCCL for errors meanwhile. If a
  /// collective does not end within the world's timeout, the wait ends. The
  /// next call then waits for the remaining commands, after aborting NCCL's.
  Status synchronize() override;
  std::string streamActivity() override;

  Status beginOrder(const std::vector<GroupUse> &groups, bool isFirst) override;
  bool recordsSteps() const override;
  Status beginRecording() override;
  Status endRecording(std::unique_ptr<RecordedStep> &out) override;
  void dropRecording() override;
  Status replay(RecordedStep &step) override;

  Status write(int64_t offset, const void *source, int64_t bytes) override;
  Status read(int64_t offset, void *destination, int64_t bytes) override;
  void *hostAddress(int64_t) override { return nullptr; }

private:
  using Clock = std::chrono::steady_clock;

  Status createStreams();
  Status transfer(void *target, const void *source, int64_t bytes,
                  cudaMemcpyKind kind);
  Status createEvents();
  Status takeBase();

  /// Agrees with the other ranks on whether to replay a step, given the outcome
  /// of this rank's recording. A step is replayed by all ranks or by none,
  /// since NCCL requires that all ranks capture a collective alike.
  Status agreeOnGraph(const Status &mine);
  /// Enqueues the command of each call.
  struct Enqueuer;
  Collectives<CudaStream> &collectivesOf(const Call &call);
  /// Waits for the GPU, and sends or receives a transfer's bytes by the host.
  Status transferThroughHost(Call &call);
  std::byte *buffer(const Call &call, size_t index) const {
    return arena.data() + call.buffers[index];
  }

  /// The state of a wait in synchronize().
  struct Wait;
  /// The part of synchronize() that runs within a step.
  Status settle();
  Status waitForStreams();
  Status lookAround(Wait &wait);
  Status checkCollective(Wait &wait);
  /// After a failure: aborts NCCL, destroys recorded steps, and waits for the
  /// rest, at most as long as a collective may take.
  void drain();
  void waitForIdle();
  Status report();
  Status tellReplayed();

  CudaWorld &world;
  const int64_t rank;
  const int device;
  /// Whether the GPU has products by warpgroups.
  bool hasWarpgroups = false;
  DeviceMemory arena;
  CublasHandle cublas;
  std::shared_ptr<CudaAttentionContext> attentionContext;
  /// The plan's events, by number.
  std::vector<CudaEvent> events;
  std::vector<std::unique_ptr<CudaStream>> streams;
  NcclCommunicators communicators;
  CopyCollectives copies;
  NcclCollectives nccl;
  StepCapture capture;
  /// Graphs of the steps that are recorded.
  std::vector<std::weak_ptr<GraphExecutable>> graphs;
  /// Whether stages have orders of their own, and whether their transfers go
  /// through the host in the step that is issued (TransferPost.h).
  bool hasOrders = false, isThroughHost = false;
  /// Whether a replayed step is running; the current command of its streams is
  /// then not known.
  bool isReplaying = false;
  /// Recorded before and after a replayed step, if its time on the GPU is
  /// wanted.
  CudaEvent replayBegin, replayEnd;
  Status failure;
  /// The time at which all drains must end; set by the first drain.
  Clock::time_point drainEnd;
  /// The event, and its time, from which marks measure.
  CudaEvent base;
  Clock::time_point baseTime;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CUDARANK_H
