// Describing the GPUs at hand: isolated operations on the CUDA backend, each
// called again and again until the device is done with all.
#ifndef TPSP_TOOLS_TPSP_RUN_CALIBRATEGPU_H
#define TPSP_TOOLS_TPSP_RUN_CALIBRATEGPU_H

#include "CallTimes.h"
#include "Progress.h"

#include "tpsp/Runtime/DeviceInventory.h"
#include "tpsp/Schedule/Hardware.h"

namespace tpsp::run {

/// How much is measured.
struct GpuProbe {
  /// Of each of m, n and k, and the extent of a large product.
  std::vector<int64_t> extents = {256, 512, 1024, 2048, 4096};
  int64_t large = 8192;
  /// Of f64, whose matrices few programs have.
  size_t wideExtents = 3;
  /// Of attention: features of a head, keys of a row, and queries of all heads.
  std::vector<int64_t> attentionFeatures = {64, 128};
  std::vector<int64_t> attentionKeys = {512, 1024, 2048, 4096, 8192};
  int64_t attentionRows = 1 << 17;
  /// Elements of f32 that kernels go over: the smallest and the largest.
  int64_t fewElements = 1 << 8, manyElements = 1 << 27;
  /// Bytes of collectives.
  int64_t smallest = 4 << 10, largest = 256 << 20;
  DeviceTiming timing;

  /// The same in a second, of small things: whether it works, not how fast
  /// anything is. For TPSP_CALIBRATE_QUICK.
  static GpuProbe quick();
};

/// Measures the GPUs of this process, in some minutes.
llvm::Expected<Hardware> measureGpus(const GpuProbe &probe, Progress &progress);

// Parts of it; each fills in what its name says.

/// Launch, issue and step.
llvm::Error measureCommands(const GpuProbe &probe, Hardware &hardware);
/// Rates by shape and type on one GPU.
llvm::Error measureProducts(const GpuProbe &probe, Hardware &hardware,
                            Progress &progress);
/// Of attention in one call on one GPU; nothing where cuDNN is not found.
llvm::Error measureAttention(const GpuProbe &probe, Hardware &hardware,
                             Progress &progress);
/// What generated kernels are made of, and memory.
llvm::Error measureKernels(const GpuProbe &probe, Hardware &hardware,
                           Progress &progress);
/// Every kind by size and group over NCCL, among the GPUs of this process;
/// nothing if there is one. Ranks that share a GPU would copy, which is no
/// link.
llvm::Error measureLinks(const GpuProbe &probe, Hardware &hardware,
                         Progress &progress);

} // namespace tpsp::run

#endif // TPSP_TOOLS_TPSP_RUN_CALIBRATEGPU_H
