#include "CudaAttention.h"

#include "CudnnGraph.h"
#include "CudnnLibrary.h"

#include "tpsp/Abi/LibraryLimits.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace tpsp::rt {
namespace {

/// A rank's cuDNN handle and its graphs. Layers of a model share graphs,
/// because building a graph compiles it.
class CudnnContext final : public CudaAttentionContext {
public:
  Status create();
  Status graphOf(const AttentionCommand &command, bool isGradient,
                 int64_t queryStart, std::shared_ptr<CudnnGraph> &out);

  CudnnHandle handle;

private:
  CudnnGpu gpu;
  using Key = std::tuple<bool, int64_t, Params>;
  std::map<Key, std::shared_ptr<CudnnGraph>> graphs;
};

Status CudnnContext::create() {
  TPSP_TRY(loadCudnn());
  int device = 0;
  TPSP_CUDA(cudaGetDevice, &device);
  cudaDeviceProp properties;
  TPSP_CUDA(cudaGetDeviceProperties, &properties, device);
  gpu.version = 10 * properties.major + properties.minor;
  gpu.multiprocessors = properties.multiProcessorCount;
  return handle.create();
}

Status CudnnContext::graphOf(const AttentionCommand &command, bool isGradient,
                             int64_t queryStart,
                             std::shared_ptr<CudnnGraph> &out) {
  std::shared_ptr<CudnnGraph> &known =
      graphs[{isGradient, queryStart, command.encode()}];
  out = known;
  if (out)
    return {};
  auto fresh = std::make_shared<CudnnGraph>();
  TPSP_TRY(fresh->describe(command, isGradient, queryStart, gpu));
  TPSP_TRY(fresh->chooseEngine(handle.get()));
  TPSP_TRY(fresh->build());
  out = known = fresh;
  return {};
}

/// No query sees the keys, so the gradients of keys and values are zero.
class UnseenKeys final : public CudaAttention {
public:
  UnseenKeys(const AttentionCommand &command, bool isGradient,
             const std::vector<std::byte *> &buffers) {
    int64_t width = elementBytes(command.dtype);
    if (isGradient)
      spans = {{buffers[7], command.keyElements() * width},
               {buffers[8], command.valueElements() * width}};
  }

  Status run(const BuiltinKernels &, CudaStream &stream) override {
    for (auto [start, bytes] : spans)
      if (bytes > 0)
        TPSP_CUDA(cudaMemset2DAsync, start, size_t(bytes), 0, size_t(bytes), 1,
                  stream.get());
    return {};
  }

private:
  std::vector<std::pair<std::byte *, int64_t>> spans;
};

/// Segments and lengths, and rows without keys. cuDNN has none of these. The
/// graph has numbers or a mask instead of segments and lengths. A forward
/// graph's rows without keys are set after it has run. A backward graph gets a
/// copy of the statistic, in which they are finite.
class HiddenKeys {
public:
  /// `buffers` are the command's.
  HiddenKeys(const AttentionCommand &c, bool isGradient, int64_t keys,
             const std::vector<std::byte *> &buffers);

  int64_t scratchBytes() const;
  /// Called before the graph runs. `scratch` has scratchBytes() bytes. Sets
  /// those buffers of the graph that are not the command's.
  Status begin(const BuiltinKernels &kernels, std::byte *scratch,
               std::vector<std::byte *> &buffers, CudaStream &stream);
  /// Called after the graph has run.
  Status end(const BuiltinKernels &kernels, CudaStream &stream) const {
    return isGradient ? Status() : kernels.clearRows(rows, stream.get());
  }

  /// Returns the buffers of a graph, null where begin() sets them.
  static std::vector<std::byte *>
  buffersOfGraph(const AttentionCommand &c, bool isGradient,
                 std::vector<std::byte *> buffers) {
    buffers.resize(numTensors(c, isGradient));
    if (!isGradient && !c.keepsStatistic)
      buffers.push_back(nullptr);
    buffers.resize(buffers.size() + (isGradient ? 1 : 2));
    return buffers;
  }
  /// The number of the command's buffers before segments and lengths.
  static size_t numTensors(const AttentionCommand &c, bool isGradient) {
    return isGradient ? 9 : c.keepsStatistic ? 5 : 4;
  }

private:
  static int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }
  int64_t statisticBytes() const {
    return isGradient || !keepsStatistic
               ? aligned(rows.batch * rows.heads * rows.rows *
                         int64_t(sizeof(float)))
               : 0;
  }
  int64_t numberBytes(int64_t count) const {
    return aligned(segments.batch * count * int64_t(sizeof(int)));
  }

  const bool isGradient, keepsStatistic;
  AttentionRowsArguments rows = {};
  SegmentsArguments segments = {};
};

HiddenKeys::HiddenKeys(const AttentionCommand &c, bool isGradient, int64_t keys,
                       const std::vector<std::byte *> &buffers)
    : isGradient(isGradient), keepsStatistic(c.keepsStatistic) {
  rows.limit = cudnnHiddenScore / 2;
  rows.batch = c.batch, rows.heads = c.heads * c.groups;
  rows.rows = c.queries, rows.features = c.valueFeatures;
  rows.resultBatch = c.o.batch, rows.resultRow = c.o.row;
  rows.resultHead = c.groups > 1 ? c.o.group : c.o.head;
  rows.result = reinterpret_cast<unsigned short *>(buffers[3]);
  if (keepsStatistic)
    rows.statistic = reinterpret_cast<float *>(buffers[4]);
  segments.batch = c.batch, segments.queries = c.queries, segments.keys = keys;
  segments.pitch = CudnnGraph::maskPitch(keys);
  // Minus infinity.
  segments.hidden = c.dtype == TPSP_RT_BF16 ? 0xff80 : 0xfc00;
  size_t next = numTensors(c, isGradient);
  auto integers = [&] {
    return reinterpret_cast<const int *>(buffers[next++]);
  };
  if (c.hasSegments) {
    segments.querySegments = integers();
    segments.queryBatch = c.querySegments.batch;
    segments.queryRow = c.querySegments.row;
    segments.keySegments = integers();
    segments.keyBatch = c.keySegments.batch;
    segments.keyRow = c.keySegments.row;
  }
  if (c.hasLengths) {
    segments.lengths = integers();
    segments.lengthBatch = c.lengths.batch;
  }
}

int64_t HiddenKeys::scratchBytes() const {
  if (isGradient)
    return statisticBytes() + segments.batch * segments.queries *
                                  segments.pitch * int64_t(sizeof(short));
  return statisticBytes() + numberBytes(segments.queries) +
         numberBytes(segments.keys);
}

Status HiddenKeys::begin(const BuiltinKernels &kernels, std::byte *scratch,
                         std::vector<std::byte *> &buffers,
                         CudaStream &stream) {
  if (statisticBytes() > 0) {
    auto *own = reinterpret_cast<float *>(buffers[4] = scratch);
    (isGradient ? rows.copy : rows.statistic) = own;
    scratch += statisticBytes();
  }
  if (isGradient) {
    segments.mask = reinterpret_cast<unsigned short *>(scratch);
    buffers.back() = scratch;
    TPSP_TRY(kernels.copyStatistic(rows, stream.get()));
    return kernels.maskSegments(segments, stream.get());
  }
  std::byte *ofKeys = scratch + numberBytes(segments.queries);
  segments.queryNumbers = reinterpret_cast<int *>(scratch);
  segments.keyNumbers = reinterpret_cast<int *>(ofKeys);
  buffers.end()[-2] = scratch;
  buffers.back() = ofKeys;
  return kernels.numberSegments(segments, stream.get());
}

class CudnnAttention final : public CudaAttention {
public:
  /// `unseen` is null if the graph computes gradients of all keys, or of none.
  CudnnAttention(const AttentionCommand &command, bool isGradient, int64_t keys,
                 std::shared_ptr<CudnnContext> context,
                 std::shared_ptr<CudnnGraph> graph,
                 std::unique_ptr<CudaAttention> unseen,
                 const std::vector<std::byte *> &ofCommand)
      : context(std::move(context)), graph(std::move(graph)),
        unseen(std::move(unseen)), buffers(ofCommand) {
    if (!CudnnGraph::hidesKeys(command))
      return;
    hidden.emplace(command, isGradient, keys, ofCommand);
    buffers = HiddenKeys::buffersOfGraph(command, isGradient, ofCommand);
  }

  Status run(const BuiltinKernels &kernels, CudaStream &stream) override {
    if (unseen)
      TPSP_TRY(unseen->run(kernels, stream));
    int64_t own = hidden ? hidden->scratchBytes() : 0;
    int64_t begin =
        own > 0 ? aligned(graph->workspaceBytes()) : graph->workspaceBytes();
    std::byte *scratch = nullptr;
    TPSP_TRY(stream.reserveScratch(begin + own, scratch));
    if (own > 0)
      TPSP_TRY(hidden->begin(kernels, scratch + begin, buffers, stream));
    TPSP_TRY(context->handle.setStream(stream.get()));
    TPSP_TRY(graph->run(context->handle.get(), buffers, scratch));
    return hidden ? hidden->end(kernels, stream) : Status();
  }

private:
  static int64_t aligned(int64_t bytes) { return (bytes + 255) / 256 * 256; }

  /// Kept alive after the rank if necessary: graphs must be destroyed before
  /// the handle.
  const std::shared_ptr<CudnnContext> context;
  const std::shared_ptr<CudnnGraph> graph;
  const std::unique_ptr<CudaAttention> unseen;
  std::optional<HiddenKeys> hidden;
  std::vector<std::byte *> buffers;
};

/// Integers may be anywhere.
Status checkAlignment(const std::vector<std::byte *> &buffers, size_t count) {
  for (size_t i = 0; i < std::min(count, buffers.size()); ++i)
    if (reinterpret_cast<uintptr_t>(buffers[i]) % cudnnAlignment != 0)
      return {TPSP_RT_UNSUPPORTED,
              fmt::format("cuDNN wants attention's tensors at multiples of {} "
                          "bytes, and buffer {} is at {}; make the plan with "
                          "--attention rows",
                          cudnnAlignment, i, fmt::ptr(buffers[i]))};
  return {};
}

Status makeContext(std::shared_ptr<CudaAttentionContext> &context) {
  if (context)
    return {};
  auto fresh = std::make_shared<CudnnContext>();
  TPSP_TRY(fresh->create());
  context = std::move(fresh);
  return {};
}

} // namespace

Status findAttentionLibrary() { return loadCudnn(); }

/// The same command with heads as the batch, if segments or lengths are of
/// heads and there is no batch.
static AttentionCommand withBatch(AttentionCommand c) {
  auto ofHeads = [](bool isThere, const AttentionLayout &layout) {
    return isThere && layout.head > 0;
  };
  if (c.batch > 1 || !(ofHeads(c.hasSegments, c.querySegments) ||
                       ofHeads(c.hasSegments, c.keySegments) ||
                       ofHeads(c.hasLengths, c.lengths)))
    return c;
  std::swap(c.batch, c.heads);
  for (AttentionLayout *layout :
       {&c.q, &c.k, &c.v, &c.o, &c.querySegments, &c.keySegments, &c.lengths})
    std::swap(layout->batch, layout->head);
  return c;
}

/// The same command without the first `count` keys, and its buffers.
static AttentionCommand withoutKeys(AttentionCommand c, bool isGradient,
                                    int64_t count,
                                    std::vector<std::byte *> &buffers) {
  auto skip = [&](size_t buffer, const AttentionLayout &layout, int64_t width) {
    buffers[buffer] += count * layout.row * width;
  };
  int64_t width = elementBytes(c.dtype);
  for (size_t first : {1, 7}) {
    if (first == 7 && !isGradient)
      continue;
    skip(first, c.k, width);
    skip(first + 1, c.v, width);
  }
  if (c.hasSegments)
    skip(HiddenKeys::numTensors(c, isGradient) + 1, c.keySegments,
         int64_t(sizeof(int32_t)));
  c.keys -= count;
  return c;
}

Status prepareCudaAttention(const AttentionCommand &given, bool isGradient,
                            int64_t start,
                            const std::vector<std::byte *> &ofCommand,
                            std::shared_ptr<CudaAttentionContext> &context,
                            std::unique_ptr<CudaAttention> &out) {
  AttentionCommand whole = withBatch(given);
  auto unseen = std::make_unique<UnseenKeys>(whole, isGradient, ofCommand);
  if (whole.numRows() == 0) {
    out = std::move(unseen);
    return {};
  }
  std::vector<std::byte *> buffers = ofCommand;
  int64_t queryStart = whole.startAmongKeys(start);
  AttentionCommand command =
      withoutKeys(whole, isGradient, whole.keysBefore(start), buffers);
  if (!isGradient || CudnnGraph::keysOf(command, queryStart) == whole.keys)
    unseen.reset();
  TPSP_TRY(
      checkAlignment(buffers, HiddenKeys::numTensors(command, isGradient)));
  TPSP_TRY(makeContext(context));
  auto cudnn = std::static_pointer_cast<CudnnContext>(context);
  std::shared_ptr<CudnnGraph> graph;
  TPSP_TRY(cudnn->graphOf(command, isGradient, queryStart, graph));
  out = std::make_unique<CudnnAttention>(
      command, isGradient, CudnnGraph::keysOf(command, queryStart), cudnn,
      graph, std::move(unseen), buffers);
  return {};
}

} // namespace tpsp::rt
