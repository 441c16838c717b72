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

  /// On the rank's thread; all ranks together.
  Status initialize();

  Status run(Call &call) override;

  /// Waits for all streams; asks NCCL for its errors meanwhile. A collective
  /// that does not end within the world's timeout ends the wait. The next call
  /// waits for what is left, NCCL's part of which is aborted.
  Status synchronize() override;
  std::string streamActivity() override;

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

  /// A step is replayed by all ranks or by none: NCCL wants collectives to be
  /// captured on all ranks alike. Meets the others, each with what came of its
  /// recording.
  Status agreeOnGraph(const Status &mine);
  /// What this backend enqueues for each call.
  struct Enqueuer;
  Collectives<CudaStream> &collectivesOf(const Call &call);
  std::byte *buffer(const Call &call, size_t index) const {
    return arena.data() + call.buffers[index];
  }

  /// What a wait of synchronize() knows.
  struct Wait;
  /// synchronize(), within a step.
  Status settle();
  Status waitForStreams();
  Status lookAround(Wait &wait);
  Status checkCollective(Wait &wait);
  /// After a failure: ends what NCCL waits for, and waits for the rest, for as
  /// long as a collective might take. Recorded steps are gone then.
  void drain();
  void waitForIdle();
  Status report();
  Status tellReplayed();

  CudaWorld &world;
  const int64_t rank;
  const int device;
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
  /// A replayed step is under way: what its streams are at is not known.
  bool isReplaying = false;
  /// Around it, if somebody asks for how long the GPU runs it.
  CudaEvent replayBegin, replayEnd;
  Status failure;
  /// How long drains wait, all of them together; set by the first.
  Clock::time_point drainEnd;
  /// Since when marks measure.
  CudaEvent base;
  Clock::time_point baseTime;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CUDARANK_H
