// cuDNN's backend API. It stores descriptors, has one engine, and computes
// graphs on the stream of the handle.
#include "CudnnGraphRun.h"
#include "Doubles.h"

#include <algorithm>
#include <set>

using namespace tpsp::doubles;

struct cudnnContext {
  cudaStream_t stream = nullptr;
};

namespace {

/// The version of cuDNN with which the graphs were examined.
constexpr size_t version = 91900;
/// Bytes that the engine requests, to test that the caller provides them.
constexpr int64_t workspaceBytes = 4096;

thread_local std::string lastError;

cudnnStatus_t fail(cudnnStatus_t status, const std::string &why) {
  lastError = why;
  return status;
}

cudnnStatus_t injected(const char *call) {
  return fail(CUDNN_STATUS_EXECUTION_FAILED,
              std::string(call) + " was to fail");
}

/// Returns the reference behind a handle; each handle owns one.
DescriptorRef &refOf(cudnnBackendDescriptor_t handle) {
  return *static_cast<DescriptorRef *>(handle);
}

const std::vector<DescriptorRef> &operationsOf(const Descriptor &graph) {
  return graph.find(CUDNN_ATTR_OPERATIONGRAPH_OPS)->descriptors;
}

/// Returns the graph of an engine's configuration.
DescriptorRef graphOf(const Descriptor &config) {
  DescriptorRef engine = config.descriptor(CUDNN_ATTR_ENGINECFG_ENGINE);
  return engine ? engine->descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)
                : nullptr;
}

void setWhole(Descriptor &target, cudnnBackendAttributeName_t name,
              const DescriptorRef &value) {
  target.attributes[name] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {value}};
}

/// The one engine, as a configuration.
Descriptor makeConfig(const DescriptorRef &graph) {
  auto engine = std::make_shared<Descriptor>(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  setWhole(*engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
  int64_t index = 0;
  (void)engine->set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1,
                    &index);
  engine->isFinal = true;
  Descriptor config(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  setWhole(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  config.isFinal = true;
  return config;
}

/// Returns what a heuristic finds: nothing for a graph that is not attention.
cudnnStatus_t getResults(const Descriptor &heuristic, int64_t requested,
                         int64_t *count, void *elements) {
  DescriptorRef graph =
      heuristic.descriptor(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  if (!graph)
    return fail(CUDNN_STATUS_BAD_PARAM, "a heuristic without a graph");
  GraphRun run(operationsOf(*graph));
  *count = run.refusal().empty();
  if (*count == 0)
    lastError = run.refusal();
  if (elements && requested > 0 && *count == 1)
    *refOf(*static_cast<cudnnBackendDescriptor_t *>(elements)) =
        makeConfig(graph);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t getNumber(int64_t value, int64_t *count, void *elements) {
  if (count)
    *count = 1;
  if (elements)
    std::memcpy(elements, &value, sizeof value);
  return CUDNN_STATUS_SUCCESS;
}

/// Returns an attribute as it was set; an empty list if it was not. Descriptors
/// are copied into those of the caller.
cudnnStatus_t getStored(const Descriptor &descriptor,
                        cudnnBackendAttributeName_t name, int64_t requested,
                        int64_t *count, void *elements) {
  const Attribute *attribute = descriptor.find(name);
  int64_t there = attribute ? attribute->count : 0;
  if (count)
    *count = there;
  int64_t copied = elements ? std::min(requested, there) : 0;
  for (int64_t i = 0; i < copied; ++i) {
    if (attribute->type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
      *refOf(static_cast<cudnnBackendDescriptor_t *>(elements)[i]) =
          *attribute->descriptors[size_t(i)];
    else
      std::memcpy(static_cast<std::byte *>(elements) +
                      size_t(i) * widthOf(attribute->type),
                  attribute->bytes.data() +
                      size_t(i) * widthOf(attribute->type),
                  widthOf(attribute->type));
  }
  return CUDNN_STATUS_SUCCESS;
}

/// Checks the attributes that a descriptor needs before others may refer to it.
cudnnStatus_t checkFinal(const Descriptor &descriptor) {
  if (descriptor.type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR &&
      (!descriptor.find(CUDNN_ATTR_OPERATIONGRAPH_OPS) ||
       !descriptor.value<void *>(CUDNN_ATTR_OPERATIONGRAPH_HANDLE)))
    return fail(CUDNN_STATUS_BAD_PARAM, "a graph without operations or handle");
  if (descriptor.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR) {
    DescriptorRef config =
        descriptor.descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    if (!config || !graphOf(*config))
      return fail(CUDNN_STATUS_BAD_PARAM, "a plan without an engine");
  }
  return CUDNN_STATUS_SUCCESS;
}

/// The arguments of one execution.
struct Arguments {
  explicit Arguments(const Descriptor &pack)
      : workspace(pack.value<void *>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE)) {
    auto ids = pack.list<int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    auto addresses = pack.list<void *>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    for (size_t i = 0; i < std::min(ids.size(), addresses.size()); ++i)
      bindings[ids[i]] = addresses[i];
  }

  /// Returns what is wrong with the arguments, or an empty string.
  std::string faultFor(const GraphRun &run) const {
    std::set<int64_t> known;
    for (const GraphTensor *tensor : run.given()) {
      known.insert(tensor->id());
      auto found = bindings.find(tensor->id());
      if (found == bindings.end() || !found->second)
        return "a tensor without an address";
      if (!tensor->isByValue() &&
          reinterpret_cast<uintptr_t>(found->second) % tensor->alignment())
        return "an address that is not aligned as was said";
    }
    for (auto [id, address] : bindings)
      if (!known.count(id))
        return "an address of no tensor";
    return workspace ? "" : "no workspace";
  }

  Bindings bindings;
  void *workspace;
};

/// Runs a graph on a stream. Numbers passed by value are read now, before it
/// runs.
cudaError_t enqueue(cudaStream_t stream,
                    const std::vector<DescriptorRef> &operations,
                    const GraphRun &described, const Arguments &arguments) {
  std::map<int64_t, std::array<std::byte, 8>> numbers;
  for (const GraphTensor *tensor : described.given())
    if (tensor->isByValue())
      std::memcpy(numbers[tensor->id()].data(),
                  arguments.bindings.at(tensor->id()), 4);
  return doubleEnqueue(stream, [operations, arguments = Arguments(arguments),
                                numbers]() mutable {
    for (auto &[id, bytes] : numbers)
      arguments.bindings[id] = bytes.data();
    std::memset(arguments.workspace, 0xff, size_t(workspaceBytes));
    GraphRun(operations).run(arguments.bindings);
  });
}

} // namespace

TPSP_DOUBLE size_t cudnnGetVersion() { return version; }

TPSP_DOUBLE const char *cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
  case CUDNN_STATUS_SUCCESS:
    return "CUDNN_STATUS_SUCCESS";
  case CUDNN_STATUS_BAD_PARAM:
    return "CUDNN_STATUS_BAD_PARAM";
  case CUDNN_STATUS_EXECUTION_FAILED:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  default:
    return "CUDNN_STATUS";
  }
}

TPSP_DOUBLE void cudnnGetLastErrorString(char *message, size_t size) {
  std::strncpy(message, lastError.c_str(), size);
  if (size > 0)
    message[size - 1] = 0;
  lastError.clear();
}

TPSP_DOUBLE cudnnStatus_t cudnnCreate(cudnnHandle_t *out) {
  if (tpspDoubleEnter(__func__))
    return injected(__func__);
  *out = new cudnnContext;
  tpspDoubleCountObjects(1);
  return CUDNN_STATUS_SUCCESS;
}

TPSP_DOUBLE cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  tpspDoubleCountObjects(-1);
  return CUDNN_STATUS_SUCCESS;
}

TPSP_DOUBLE cudnnStatus_t cudnnSetStream(cudnnHandle_t handle,
                                         cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return injected(__func__);
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

TPSP_DOUBLE cudnnStatus_t cudnnGetStream(cudnnHandle_t handle,
                                         cudaStream_t *stream) {
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

TPSP_DOUBLE cudnnStatus_t cudnnBackendCreateDescriptor(
    cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t *out) {
  if (tpspDoubleEnter(__func__))
    return injected(__func__);
  *out = new DescriptorRef(std::make_shared<Descriptor>(type));
  tpspDoubleCountObjects(1);
  return CUDNN_STATUS_SUCCESS;
}

TPSP_DOUBLE cudnnStatus_t
cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  if (!handle)
    return CUDNN_STATUS_SUCCESS;
  delete &refOf(handle);
  tpspDoubleCountObjects(-1);
  return CUDNN_STATUS_SUCCESS;
}

TPSP_DOUBLE cudnnStatus_t cudnnBackendSetAttribute(
    cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t type, int64_t count, const void *elements) {
  if (tpspDoubleEnter(__func__))
    return injected(__func__);
  return refOf(handle)->set(name, type, count, elements);
}

TPSP_DOUBLE cudnnStatus_t cudnnBackendGetAttribute(
    const cudnnBackendDescriptor_t handle, cudnnBackendAttributeName_t name,
    cudnnBackendAttributeType_t, int64_t requested, int64_t *count,
    void *elements) {
  if (tpspDoubleEnter(__func__))
    return injected(__func__);
  const Descriptor &descriptor = *refOf(handle);
  if (!descriptor.isFinal)
    return fail(CUDNN_STATUS_BAD_PARAM, "a descriptor that is not finalized");
  if (name == CUDNN_ATTR_ENGINEHEUR_RESULTS)
    return getResults(descriptor, requested, count, elements);
  if (name == CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT)
    return getNumber(1, count, elements);
  if (name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE)
    return getNumber(workspaceBytes, count, elements);
  if (name == CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED) {
    std::memset(elements, 0, sizeof(int32_t));
    return CUDNN_STATUS_SUCCESS;
  }
  return getStored(descriptor, name, requested, count, elements);
}

TPSP_DOUBLE cudnnStatus_t
cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  if (tpspDoubleEnter(__func__))
    return injected(__func__);
  Descriptor &descriptor = *refOf(handle);
  cudnnStatus_t status = checkFinal(descriptor);
  descriptor.isFinal = status == CUDNN_STATUS_SUCCESS;
  return status;
}

TPSP_DOUBLE cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle,
                                              cudnnBackendDescriptor_t plan,
                                              cudnnBackendDescriptor_t pack) {
  if (tpspDoubleEnter(__func__))
    return injected(__func__);
  if (!refOf(plan)->isFinal || !refOf(pack)->isFinal)
    return fail(CUDNN_STATUS_BAD_PARAM, "a plan that is not finalized");
  DescriptorRef graph = graphOf(
      *refOf(plan)->descriptor(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
  GraphRun run(operationsOf(*graph));
  Arguments arguments(*refOf(pack));
  if (std::string fault = arguments.faultFor(run); !fault.empty())
    return fail(CUDNN_STATUS_BAD_PARAM, fault);
  if (enqueue(handle->stream, operationsOf(*graph), run, arguments) !=
      cudaSuccess)
    return fail(CUDNN_STATUS_EXECUTION_FAILED, "the stream takes no work");
  return CUDNN_STATUS_SUCCESS;
}
