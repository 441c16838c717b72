// Captures and graphs. Each lane of a graph is replayed on its own thread. Only
// captured events order the lanes, so that a missing event shows.
#include "DoubleStream.h"

#include <map>

bool Capture::isJoined() const {
  // From the origin's last operation backwards.
  std::vector<bool> isReached(operations.size(), false);
  std::map<int, size_t> recordOf;
  for (size_t i = 0; i < operations.size(); ++i)
    if (operations[i].kind == Kind::Record)
      recordOf[operations[i].slot] = i;
  std::vector<size_t> todo;
  auto visit = [&](int lane, size_t before) {
    for (size_t i = before; i-- > 0;)
      if (operations[i].lane == lane) {
        if (!isReached[i])
          todo.push_back(i);
        isReached[i] = true;
        return;
      }
  };
  visit(0, operations.size());
  while (!todo.empty()) {
    size_t at = todo.back();
    todo.pop_back();
    visit(operations[at].lane, at);
    if (operations[at].kind == Kind::Wait) {
      size_t record = recordOf[operations[at].slot];
      visit(operations[record].lane, record + 1);
    }
  }
  for (bool each : isReached)
    if (!each)
      return false;
  return true;
}

TPSP_DOUBLE cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                               cudaStreamCaptureMode mode) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (stream->capture || mode != cudaStreamCaptureModeThreadLocal)
    return cudaErrorIllegalState;
  stream->capture = std::make_shared<Capture>();
  stream->capture->lanes = {stream};
  stream->capture->priorities = {stream->priority};
  stream->lane = 0;
  ownCapture = stream->capture;
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaStreamEndCapture(cudaStream_t stream,
                                             cudaGraph_t *graph) {
  bool fails = tpspDoubleEnter(__func__);
  *graph = nullptr;
  if (!stream->capture || stream->lane != 0)
    return cudaErrorIllegalState;
  // Events still refer to the capture object, so its contents are moved out of
  // it.
  auto capture = std::make_shared<Capture>(std::move(*stream->capture));
  *stream->capture = Capture();
  for (cudaStream_t lane : capture->lanes)
    lane->capture = nullptr;
  ownCapture.reset();
  if (fails)
    return cudaErrorUnknown;
  if (capture->isInvalid)
    return cudaErrorStreamCaptureInvalidated;
  if (!capture->isJoined())
    return cudaErrorStreamCaptureUnjoined;
  *graph = new CUgraph_st{capture};
  tpspDoubleCountObjects(1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  tpspDoubleCountObjects(-1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out,
                                             cudaGraph_t graph,
                                             unsigned long long flags) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  // Nodes have their streams' priorities, but they count only if the flag
  // requests them.
  for (int priority : graph->capture->priorities)
    if (priority != 0 && flags & cudaGraphInstantiateFlagUseNodePriority)
      (void)tpspDoubleEnter("stream of a graph with its priority");
  *out = new CUgraphExec_st{graph->capture, {}, false};
  for (size_t i = 1; i < graph->capture->lanes.size(); ++i)
    (*out)->lanes.push_back(std::make_unique<CUstream_st>());
  tpspDoubleCountObjects(1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  tpspDoubleCountObjects(-1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaGraphUpload(cudaGraphExec_t graph,
                                        cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  return doubleEnqueue(stream, [graph] { graph->isUploaded = true; });
}

TPSP_DOUBLE cudaError_t cudaGraphLaunch(cudaGraphExec_t graph,
                                        cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (stream->capture)
    return cudaErrorStreamCaptureUnsupported;
  // The real launch may wait for the GPU to upload the graph, and the GPU for
  // other ranks.
  if (!graph->isUploaded)
    (void)tpspDoubleEnter("upload by a launch");
  std::vector<MomentRef> moments;
  for (int i = 0; i < graph->capture->slots; ++i)
    moments.push_back(std::make_shared<Moment>());
  for (const Capture::Operation &each : graph->capture->operations) {
    CUstream_st &lane =
        each.lane == 0 ? *stream : *graph->lanes[size_t(each.lane) - 1];
    if (each.kind == Capture::Kind::Task)
      lane.push(each.task);
    else if (each.kind == Capture::Kind::Record)
      lane.push([moment = moments[size_t(each.slot)]] { moment->reach(); });
    else
      lane.push([moment = moments[size_t(each.slot)]] { moment->wait(); });
  }
  return cudaSuccess;
}
