// Kernels. Of an image's text only names and sizes are read. A launch calls the
// host function that is registered under the kernel's name.
#include "DoubleStream.h"
#include "PtxText.h"

#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace {

/// Bytes of shared memory of a block, static and dynamic together: by default,
/// and at most on an H100.
constexpr size_t sharedUnasked = 48 << 10, sharedMost = 227 << 10;

/// Bytes of a kernel's parameters, at most, in the PTX version of plans.
constexpr size_t parametersMost = 4352;

/// A registered kernel.
struct HostKernel {
  DoubleKernel function;
  std::vector<size_t> sizes;
};

struct Kernels {
  std::mutex mutex;
  std::map<std::string, HostKernel> byName;
};

Kernels &kernels() {
  static auto *instance = new Kernels;
  return *instance;
}

} // namespace

struct CUkern_st {
  CUlib_st *library = nullptr;
  bool isCompiled = false;
  /// The GPUs that have loaded it. Loading is lazy, as in the real driver.
  std::set<int> loadedOn;
  HostKernel host;
  /// Shared by launches that have not run, and by graphs.
  std::shared_ptr<int> use = std::make_shared<int>();
  size_t staticShared = 0, dynamicShared = sharedUnasked;
};

struct CUlib_st {
  /// The text of PTX; "" for machine code.
  std::string text;
  std::map<std::string, CUkern_st> kernels;
  /// The caller's options, which are read and written until the library is
  /// unloaded.
  cudaJitOption *options;
  void **values;
  unsigned count;
};

namespace {

constexpr unsigned fatbinMagic = 0xba55ed50;

cudaError_t refuse(cudaJitOption *options, void **values, unsigned count,
                   const char *why) {
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == cudaJitErrorLogBuffer)
      std::strcpy(static_cast<char *>(values[i]), why);
  return cudaErrorInvalidPtx;
}

/// PTX is compiled when a kernel is first used. An image with this line does
/// not compile.
constexpr const char *uncompilable = "// does not compile";

cudaError_t compile(CUkern_st &kernel) {
  std::lock_guard<std::mutex> lock(kernels().mutex);
  if (kernel.isCompiled)
    return cudaSuccess;
  CUlib_st &library = *kernel.library;
  if (library.text.find(uncompilable) != std::string::npos)
    return refuse(library.options, library.values, library.count,
                  "ptxas: a line that does not compile");
  kernel.isCompiled = true;
  return cudaSuccess;
}

/// Loads the kernel onto the thread's GPU, unless it is there.
cudaError_t load(CUkern_st &kernel) {
  int device = 0;
  (void)cudaGetDevice(&device);
  std::unique_lock<std::mutex> lock(kernels().mutex);
  bool isNew = kernel.loadedOn.insert(device).second;
  lock.unlock();
  if (isNew)
    doubleAllocatesOrLoads();
  return compile(kernel);
}

/// A copy of a launch's parameters, which the caller may change afterwards.
struct Parameters {
  explicit Parameters(const std::vector<size_t> &sizes, void **given) {
    for (size_t i = 0; i < sizes.size(); ++i) {
      // Stored in words of 8 bytes, for alignment.
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
  HostKernel &kernel = kernels().byName[entry];
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
      return refuse(options, values, count, "ptxas: no PTX");
  }
  *out = new CUlib_st{text, {}, options, values, count};
  tpspDoubleCountObjects(1);
  return cudaSuccess;
}

/// The real function waits for the GPU, perhaps for ever, and graphs keep
/// kernels that no longer exist. Here the library is kept in such cases and
/// shows among the live objects.
TPSP_DOUBLE cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  if (!waitForDevice())
    return cudaErrorLaunchTimeout;
  for (const auto &[name, kernel] : library->kernels)
    if (kernel.use.use_count() > 1)
      return cudaErrorInvalidResourceHandle;
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
  auto [kernel, isNew] = library->kernels.try_emplace(name);
  if (isNew) {
    size_t shared = tpsp::doubles::staticSharedBytes(library->text, name);
    if (shared > sharedUnasked ||
        tpsp::doubles::mostParameterBytes(library->text) > parametersMost)
      return cudaErrorInvalidPtx;
    kernel->second.library = library;
    kernel->second.isCompiled = library->text.empty();
    kernel->second.host = known->second;
    kernel->second.staticShared = shared;
    kernel->second.dynamicShared = sharedUnasked - shared;
  }
  *out = &kernel->second;
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *out,
                                              const void *function) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  auto *kernel = static_cast<CUkern_st *>(const_cast<void *>(function));
  *out = {};
  out->sharedSizeBytes = kernel->staticShared;
  return load(*kernel);
}

TPSP_DOUBLE cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                        cudaFuncAttribute which,
                                                        int value, int) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (which != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      kernel->staticShared + size_t(value) > sharedMost)
    return cudaErrorInvalidValue;
  std::lock_guard<std::mutex> lock(kernels().mutex);
  kernel->dynamicShared = size_t(value);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaLaunchKernel(const void *function, dim3 grid,
                                         dim3 block, void **parameters,
                                         size_t sharedBytes,
                                         cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  auto *kernel = static_cast<CUkern_st *>(const_cast<void *>(function));
  if (!kernel->isCompiled)
    (void)tpspDoubleEnter("compilation by a launch");
  if (cudaError_t result = load(*kernel); result != cudaSuccess)
    return result;
  if (grid.x == 0 || block.x == 0 || block.x * block.y * block.z > 1024)
    return cudaErrorInvalidConfiguration;
  if (sharedBytes > kernel->dynamicShared)
    return cudaErrorInvalidValue;
  auto kept = std::make_shared<Parameters>(kernel->host.sizes, parameters);
  return doubleEnqueue(stream, [=, use = kernel->use] {
    if (tpspDoubleEnter("kernel")) {
      stream->error = cudaErrorLaunchFailure;
      return;
    }
    kernel->host.function(grid, block, sharedBytes, kept->addresses.data());
  });
}
