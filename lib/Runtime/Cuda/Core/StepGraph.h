/// A step as a CUDA graph.
#ifndef TPSP_RUNTIME_CUDA_CORE_STEPGRAPH_H
#define TPSP_RUNTIME_CUDA_CORE_STEPGRAPH_H

#include "CudaEvent.h"
#include "CudaStream.h"

#include <memory>
#include <vector>

namespace tpsp::rt {

/// What can be launched of a captured step. Its record owns it. The rank knows
/// it, too, and may have to destroy it before: NCCL does not abort
/// communicators whose kernels are in a graph.
class GraphExecutable {
public:
  GraphExecutable() = default;
  GraphExecutable(const GraphExecutable &) = delete;
  ~GraphExecutable() { destroy(); }

  Status instantiate(cudaGraph_t graph);
  /// Brings it to the GPU, which its first launch else does.
  Status upload(cudaStream_t stream) const;
  /// ABORTED if it was destroyed.
  Status launch(cudaStream_t stream) const;
  void destroy();

private:
  cudaGraphExec_t executable = nullptr;
};

struct StepGraph final : RecordedStep {
  const std::shared_ptr<GraphExecutable> executable =
      std::make_shared<GraphExecutable>();
};

/// Captures what a rank enqueues on all of its streams. The capture begins on
/// stream 0; the others join it by an event behind its beginning, and are
/// joined by events before its end.
class StepCapture {
public:
  /// `streams`: the rank's, which it keeps.
  explicit StepCapture(std::vector<std::unique_ptr<CudaStream>> &streams)
      : streams(streams) {}

  bool isActive() const { return active; }
  Status begin();
  Status end(std::unique_ptr<StepGraph> &out);
  /// Ends a capture whose result nobody wants.
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
