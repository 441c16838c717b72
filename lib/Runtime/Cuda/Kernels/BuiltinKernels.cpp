#include "BuiltinKernels.h"

#include "tpsp/Abi/ElementType.h"

#include <algorithm>
#include <iterator>
#include <utility>

/// Generated from DeviceKernels.cu by the build.
extern "C" const unsigned char tpspDeviceKernels[];

namespace tpsp::rt {
namespace {

constexpr int64_t epilogueTypes[] = {
#define TPSP_EPILOGUE(DTYPE, SWEEP, PARTS, SUM, TYPE) DTYPE,
#include "DeviceKernels.def"
};

constexpr int64_t groupedTypes[] = {
#define TPSP_GROUPED(DTYPE, NAME, TYPE, ALONG_A, ALONG_B) DTYPE,
#include "DeviceKernels.def"
};

constexpr int64_t wideTypes[] = {
#define TPSP_WIDE(DTYPE, NAME, TYPE, ALONG_A, ALONG_B) DTYPE,
#include "DeviceKernels.def"
};

/// The position of the first list entry that is for a type.
template <size_t Count>
size_t placeOf(int64_t dtype, const int64_t (&types)[Count]) {
  return std::find(std::begin(types), std::end(types), dtype) - types;
}

/// Sets `unit` to the largest of 16, 8, 4, 2, 1 that divides all addresses and
/// lengths. Returns its position in that list.
int unitOf(const StridedCopy &c, int64_t &unit) {
  int64_t all = c.bytes | int64_t(reinterpret_cast<uintptr_t>(c.target)) |
                int64_t(reinterpret_cast<uintptr_t>(c.source));
  if (c.rows > 1)
    all |= c.targetRow | c.sourceRow;
  if (c.blocks > 1)
    all |= c.targetBlock | c.sourceBlock;
  int place = 0;
  for (unit = 16; all % unit != 0; unit /= 2)
    ++place;
  return place;
}

bool isDense(int64_t bytes, int64_t rows, int64_t row, int64_t blocks,
             int64_t block) {
  return (rows == 1 || row == bytes) && (blocks == 1 || block == rows * bytes);
}

} // namespace

Status BuiltinKernels::load() {
  TPSP_TRY(image.load(tpspDeviceKernels));
  const std::pair<const char *, std::vector<cudaKernel_t> *> kernels[] = {
#define TPSP_COMBINE(NAME, TYPE, OP) {"tpsp_" #NAME, &combineKernels},
#define TPSP_COPY(NAME, UNIT) {"tpsp_" #NAME, &copyKernels},
#define TPSP_EPILOGUE(DTYPE, SWEEP, PARTS, SUM, TYPE)                          \
  {"tpsp_" #SWEEP, &epilogueKernels}, {"tpsp_" #PARTS, &partsKernels},         \
      {"tpsp_" #SUM, &sumKernels},
#define TPSP_ROUND(NAME, TYPE) {"tpsp_" #NAME, &roundKernels},
#define TPSP_GROUPED(DTYPE, NAME, TYPE, ALONG_A, ALONG_B)                      \
  {"tpsp_" #NAME, &groupedKernels},
#define TPSP_WIDE(DTYPE, NAME, TYPE, ALONG_A, ALONG_B)                         \
  {"tpsp_" #NAME, &wideKernels},
#define TPSP_ATTENTION(NAME, ARGUMENTS, FUNCTION)                              \
  {"tpsp_" #NAME, &attentionKernels},
#include "DeviceKernels.def"
      {"tpsp_order_rows", &orderKernels},
  };
  for (auto [name, place] : kernels)
    TPSP_TRY(image.find(name, place->emplace_back()));
  return {};
}

Status BuiltinKernels::bringToDevice(int device, bool &hasWarpgroups) const {
  for (const auto *kernels :
       {&combineKernels, &copyKernels, &epilogueKernels, &partsKernels,
        &sumKernels, &roundKernels, &groupedKernels, &wideKernels,
        &orderKernels, &attentionKernels})
    for (cudaKernel_t kernel : *kernels)
      TPSP_TRY(image.bringToDevice(kernel));
  cudaDeviceProp properties;
  TPSP_CUDA(cudaGetDeviceProperties, &properties, device);
  // Machine code for 9.0 with these products runs on no other GPU.
  hasWarpgroups = properties.major == 9 && properties.minor == 0;
  if (!hasWarpgroups)
    return {};
  for (cudaKernel_t kernel : wideKernels)
    TPSP_CUDA(cudaKernelSetAttributeForDevice, kernel,
              cudaFuncAttributeMaxDynamicSharedMemorySize,
              wideBytes(wideEdgeM, wideEdgeN, wideStages), device);
  return {};
}

template <typename Arguments>
Status BuiltinKernels::launch(cudaKernel_t kernel, const Arguments &arguments,
                              int64_t items, cudaStream_t stream) const {
  // Several times as many blocks as today's GPUs need.
  constexpr int64_t threads = 256, maxBlocks = 4096;
  return launchBlocks(kernel, arguments,
                      std::min(maxBlocks, (items + threads - 1) / threads),
                      threads, stream);
}

template <typename Arguments>
Status BuiltinKernels::launchBlocks(cudaKernel_t kernel,
                                    const Arguments &arguments, int64_t units,
                                    int threads, cudaStream_t stream,
                                    int sharedBytes) const {
  if (units == 0)
    return {};
  int64_t blocks = std::min<int64_t>(INT32_MAX, units);
  void *parameters[] = {const_cast<Arguments *>(&arguments)};
  return image.explained(checkCuda(
      cudaLaunchKernel(reinterpret_cast<const void *>(kernel),
                       dim3(unsigned(blocks)), dim3(unsigned(threads)),
                       parameters, size_t(sharedBytes), stream),
      "cudaLaunchKernel"));
}

Status BuiltinKernels::copy(const StridedCopy &c, cudaStream_t stream) const {
  int64_t bytes = c.blocks * c.rows * c.bytes;
  if (bytes == 0 || c.target == c.source)
    return {};
  if (isDense(c.bytes, c.rows, c.targetRow, c.blocks, c.targetBlock) &&
      isDense(c.bytes, c.rows, c.sourceRow, c.blocks, c.sourceBlock)) {
    TPSP_CUDA(cudaMemcpyAsync, c.target, c.source, size_t(bytes),
              cudaMemcpyDeviceToDevice, stream);
    return {};
  }
  int64_t unit = 1;
  int place = unitOf(c, unit);
  CopyArguments arguments{c.target,           c.source,
                          c.blocks,           c.rows,
                          c.bytes / unit,     c.targetBlock / unit,
                          c.targetRow / unit, c.sourceBlock / unit,
                          c.sourceRow / unit};
  return launch(copyKernels[place], arguments, bytes / unit, stream);
}

Status BuiltinKernels::combine(int64_t dtype, int64_t reduction,
                               const CombineArguments &arguments,
                               cudaStream_t stream) const {
  return launch(combineKernels[2 * dtype + reduction], arguments,
                arguments.rows * arguments.count, stream);
}

Status BuiltinKernels::round(int64_t dtype, const RoundArguments &arguments,
                             cudaStream_t stream) const {
  return launch(roundKernels[size_t(halfFloat(dtype) - halfFloats)], arguments,
                arguments.blocks * arguments.rows * arguments.columns, stream);
}

Status BuiltinKernels::finish(int64_t dtype, const EpilogueArguments &arguments,
                              cudaStream_t stream) const {
  return launch(epilogueKernels[placeOf(dtype, epilogueTypes)], arguments,
                arguments.blocks * arguments.rows * arguments.columns, stream);
}

int64_t BuiltinKernels::partsOfSum(int64_t kept, int64_t summed) {
  // `threads` keep a current GPU busy. `elements` justify a thread. `most` is
  // the largest number of sums that one thread of the second pass adds up.
  constexpr int64_t threads = 1 << 18, elements = 16, most = 1024;
  int64_t wanted = threads / std::max<int64_t>(kept, 1);
  return std::clamp<int64_t>(std::min(wanted, summed / elements), 1, most);
}

Status BuiltinKernels::sum(int64_t dtype, const OperandSumArguments &arguments,
                           cudaStream_t stream) const {
  size_t type = placeOf(dtype, epilogueTypes);
  TPSP_TRY(launch(partsKernels[type], arguments,
                  arguments.kept * arguments.parts, stream));
  return launch(sumKernels[type], arguments, arguments.kept, stream);
}

Status BuiltinKernels::multiplyGrouped(int64_t dtype, bool alongA, bool alongB,
                                       const GroupedArguments &arguments,
                                       bool isWide, cudaStream_t stream) const {
  TPSP_TRY(launchBlocks(orderKernels[0], arguments,
                        arguments.lists * (arguments.groups + 1), orderThreads,
                        stream));
  if (isWide)
    return launchBlocks(
        wideKernels[placeOf(dtype, wideTypes) + alongA + alongB], arguments,
        arguments.tiles, wideThreads, stream,
        wideBytes(wideEdgeM, wideEdgeN, wideStages));
  size_t kernel = placeOf(dtype, groupedTypes) + 2 * alongA + alongB;
  return launchBlocks(groupedKernels[kernel], arguments, arguments.tiles,
                      groupedThreads, stream);
}

Status BuiltinKernels::numberSegments(const SegmentsArguments &arguments,
                                      cudaStream_t stream) const {
  return launch(attentionKernels[0], arguments,
                arguments.batch * std::max(arguments.queries, arguments.keys),
                stream);
}

Status BuiltinKernels::maskSegments(const SegmentsArguments &arguments,
                                    cudaStream_t stream) const {
  return launch(attentionKernels[1], arguments,
                arguments.batch * arguments.queries * arguments.pitch / 8,
                stream);
}

Status BuiltinKernels::clearRows(const AttentionRowsArguments &arguments,
                                 cudaStream_t stream) const {
  return launch(attentionKernels[2], arguments,
                arguments.batch * arguments.heads * arguments.rows, stream);
}

Status BuiltinKernels::copyStatistic(const AttentionRowsArguments &arguments,
                                     cudaStream_t stream) const {
  return launch(attentionKernels[3], arguments,
                arguments.batch * arguments.heads * arguments.rows, stream);
}

} // namespace tpsp::rt
