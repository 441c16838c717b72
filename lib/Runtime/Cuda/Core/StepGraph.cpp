#include "StepGraph.h"

namespace tpsp::rt {

void GraphExecutable::destroy() {
  if (executable)
    (void)cudaGraphExecDestroy(executable);
  executable = nullptr;
}

Status GraphExecutable::instantiate(cudaGraph_t graph) {
  // Without this flag, all streams of a graph have the priority of the stream
  // on which it is launched.
  TPSP_CUDA(cudaGraphInstantiate, &executable, graph,
            cudaGraphInstantiateFlagUseNodePriority);
  return {};
}

Status GraphExecutable::upload(cudaStream_t stream) const {
  TPSP_CUDA(cudaGraphUpload, executable, stream);
  TPSP_CUDA(cudaStreamSynchronize, stream);
  return {};
}

Status GraphExecutable::launch(cudaStream_t stream) const {
  if (!executable)
    return abortedByAnother();
  TPSP_CUDA(cudaGraphLaunch, executable, stream);
  return {};
}

Status StepCapture::begin() {
  if (!begun.exists())
    TPSP_TRY(begun.create());
  while (ended.size() < streams.size()) {
    ended.emplace_back();
    TPSP_TRY(ended.back().create());
  }
  // Captures this thread alone, because other ranks may allocate meanwhile.
  TPSP_CUDA(cudaStreamBeginCapture, streams[0]->get(),
            cudaStreamCaptureModeThreadLocal);
  active = true;
  Status status = fork();
  if (!status.ok())
    drop();
  return status;
}

Status StepCapture::fork() {
  TPSP_CUDA(cudaEventRecord, begun.get(), streams[0]->get());
  for (size_t i = 1; i < streams.size(); ++i)
    TPSP_CUDA(cudaStreamWaitEvent, streams[i]->get(), begun.get(), 0);
  return {};
}

Status StepCapture::join() {
  for (size_t i = 1; i < streams.size(); ++i) {
    TPSP_CUDA(cudaEventRecord, ended[i].get(), streams[i]->get());
    TPSP_CUDA(cudaStreamWaitEvent, streams[0]->get(), ended[i].get(), 0);
  }
  return {};
}

Status StepCapture::end(std::unique_ptr<StepGraph> &out) {
  if (Status status = join(); !status.ok()) {
    drop();
    return status;
  }
  active = false;
  cudaGraph_t graph = nullptr;
  TPSP_CUDA(cudaStreamEndCapture, streams[0]->get(), &graph);
  auto fresh = std::make_unique<StepGraph>();
  Status status = fresh->executable->instantiate(graph);
  (void)cudaGraphDestroy(graph);
  if (status.ok())
    status = fresh->executable->upload(streams[0]->get());
  if (status.ok())
    out = std::move(fresh);
  return status;
}

void StepCapture::drop() {
  active = false;
  // The error with which a broken capture ends is already known, so it is
  // ignored.
  cudaGraph_t graph = nullptr;
  (void)cudaStreamEndCapture(streams[0]->get(), &graph);
  if (graph)
    (void)cudaGraphDestroy(graph);
  (void)cudaGetLastError();
}

} // namespace tpsp::rt
