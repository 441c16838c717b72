/// A step as a CUDA graph.
#ifndef TPSP_RUNTIME_CUDA_CORE_STEPGRAPH_H
#define TPSP_RUNTIME_CUDA_CORE_STEPGRAPH_H

#include "CudaEvent.h"
#include "CudaStream.h"

#include <memory>
#include <vector>

namespace tpsp::rt {

/// The executable form of a captured step. Its record owns it. The rank refers
/// to it, too, and may have to destroy it earlier: NCCL does not abort
/// communicators whose kernels are in a graph.
class GraphExecutable {
public:
  GraphExecutable() = default;
  GraphExecutable(const GraphExecutable &) = delete;
  ~GraphExecutable() { destroy(); }

  Status instantiate(cudaGraph_t graph);
  /// Uploads the graph to the GPU, which would otherwise happen at its first
  /// launch.
  Status upload(cudaStream_t stream) const;
  /// ABORTED if the graph was destroyed.
  Status launch(cudaStream_t stream) const;
  void destroy();

private:
  cudaGraphExec_t executable = nullptr;
};

struct StepGraph final : RecordedStep {
  const std::shared_ptr<GraphExecutable> executable =
      std::make_shared<GraphExecutable>();
};

/// Captures the commands that a rank enqueues on all of its streams. The
/// capture begins on stream 0. The other streams join it through an event after
/// its beginning, and rejoin stream 0 through events before its end.
class StepCapture {
public:
  /// `streams` belong to the rank.
  explicit StepCapture(std::vector<std::unique_ptr<CudaStream>> &streams)
      : streams(streams) {}

  bool isActive() const { return active; }
  Status begin();
  Status end(std::unique_ptr<StepGraph> &out);
  /// Ends a capture and discards its result.
  void drop();

private:
  Status fork();
  Status join();

  std::vector<std::unique_ptr<CudaStream>> &streams;
  bool active = false;
  CudaEvent begun;
  std::vector<CudaEvent> ended;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_CORE_STEPGRAPH_H
