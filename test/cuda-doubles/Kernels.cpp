// Kernels: images, whose text is only looked at for names, and launches, which
// call the host function of the kernel's name.
#include "DoubleStream.h"

#include <cstring>
#include <map>
#include <memory>
#include <string>

struct CUkern_st {
  DoubleKernel function;
  std::vector<size_t> sizes;
  size_t sharedBytes = 48 << 10;
};

struct CUlib_st {
  /// Of PTX; "" for machine code.
  std::string text;
};

namespace {

struct Kernels {
  std::mutex mutex;
  std::map<std::string, CUkern_st> byName;
};

Kernels &kernels() {
  static auto *instance = new Kernels;
  return *instance;
}

constexpr unsigned fatbinMagic = 0xba55ed50;

cudaError_t refuse(cudaJitOption *options, void **values, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == cudaJitErrorLogBuffer)
      std::strcpy(static_cast<char *>(values[i]), "ptxas: no PTX");
  return cudaErrorInvalidPtx;
}

/// The parameters of a launch, which must not change under it.
struct Parameters {
  explicit Parameters(const std::vector<size_t> &sizes, void **given) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      // In words, for alignment.
      storage.emplace_back((sizes[i] + 7) / 8);
      std::memcpy(storage.back().data(), given[i], sizes[i]);
      addresses.push_back(storage.back().data());
    }
  }
  std::vector<std::vector<unsigned long long>> storage;
  std::vector<void *> addresses;
};

} // namespace

void tpspDoubleRegisterKernel(const char *entry, const DoubleKernel &function,
                              const size_t *sizes, int count) {
  std::lock_guard<std::mutex> lock(kernels().mutex);
  CUkern_st &kernel = kernels().byName[entry];
  kernel.function = function;
  kernel.sizes.assign(sizes, sizes + count);
}

TPSP_DOUBLE cudaError_t cudaLibraryLoadData(
    cudaLibrary_t *out, const void *code, cudaJitOption *options, void **values,
    unsigned count, cudaLibraryOption *, void **, unsigned) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  unsigned magic = 0;
  std::memcpy(&magic, code, sizeof magic);
  std::string text;
  if (magic != fatbinMagic) {
    text = static_cast<const char *>(code);
    if (text.find(".version") == std::string::npos)
      return refuse(options, values, count);
  }
  *out = new CUlib_st{text};
  tpspDoubleCountObjects(1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  delete library;
  tpspDoubleCountObjects(-1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaLibraryGetKernel(cudaKernel_t *out,
                                             cudaLibrary_t library,
                                             const char *name) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  std::lock_guard<std::mutex> lock(kernels().mutex);
  auto known = kernels().byName.find(name);
  bool isInText = library->text.empty() ||
                  library->text.find(std::string(".entry ") + name + "(") !=
                      std::string::npos;
  if (known == kernels().byName.end() || !isInText)
    return cudaErrorSymbolNotFound;
  *out = &known->second;
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                        cudaFuncAttribute which,
                                                        int value, int) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  // What an H100 has.
  if (which != cudaFuncAttributeMaxDynamicSharedMemorySize ||
      value > 227 * 1024)
    return cudaErrorInvalidValue;
  std::lock_guard<std::mutex> lock(kernels().mutex);
  kernel->sharedBytes = size_t(value);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaLaunchKernel(const void *function, dim3 grid,
                                         dim3 block, void **parameters,
                                         size_t sharedBytes,
                                         cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  auto *kernel = static_cast<const CUkern_st *>(function);
  if (grid.x == 0 || block.x == 0 || block.x * block.y * block.z > 1024 ||
      sharedBytes > kernel->sharedBytes)
    return cudaErrorInvalidConfiguration;
  auto kept = std::make_shared<Parameters>(kernel->sizes, parameters);
  return doubleEnqueue(stream, [=] {
    if (tpspDoubleEnter("kernel")) {
      stream->error = cudaErrorLaunchFailure;
      return;
    }
    kernel->function(grid, block, sharedBytes, kept->addresses.data());
  });
}
