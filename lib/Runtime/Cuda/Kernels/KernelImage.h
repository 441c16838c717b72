/// Images of kernels, from a plan or from the build: PTX or machine code. They
/// are loaded through the runtime's library calls, so the driver's own library
/// is not needed.
#ifndef TPSP_RUNTIME_CUDA_KERNELS_KERNELIMAGE_H
#define TPSP_RUNTIME_CUDA_KERNELS_KERNELIMAGE_H

#include "Runtime/Cuda/Core/CudaCheck.h"

#include <map>
#include <memory>
#include <mutex>

namespace tpsp::rt {

/// One loaded image, for all GPUs of the process.
class KernelImage {
public:
  KernelImage() = default;
  KernelImage(const KernelImage &) = delete;
  ~KernelImage();

  /// Called once. The caller may free the image afterwards.
  Status load(const void *image);

  Status find(const char *name, cudaKernel_t &out) const;

  /// Compiles PTX for the current GPU, which the kernel's first launch might do
  /// otherwise.
  Status compile(const char *name, cudaKernel_t kernel);

  /// Loads a kernel's code onto the current GPU, which its first launch would
  /// do otherwise.
  Status bringToDevice(cudaKernel_t kernel, const char *name = nullptr) const;

  /// Adds the message of the PTX compiler, if there is one, to a failure. The
  /// driver may call that compiler whenever a kernel is used for the first
  /// time. `name` is the kernel's, if the status does not have it.
  Status explained(const Status &status, const char *name = nullptr) const;

private:
  cudaLibrary_t library = nullptr;
  /// The driver reads the options, and writes the log, until the library is
  /// unloaded. It sets the size to the number of bytes written. Compilation is
  /// for one GPU at a time.
  std::mutex compiling;
  char log[2048] = "";
  cudaJitOption options[2] = {cudaJitErrorLogBuffer,
                              cudaJitErrorLogBufferSizeBytes};
  void *values[2] = {log, reinterpret_cast<void *>(sizeof log)};
};

/// The images of the running plans, by address. Thread-safe.
class KernelImages {
public:
  /// Loads `image` unless it is already loaded.
  Status find(const char *image, std::shared_ptr<KernelImage> &out);

  /// After a run, another plan may be loaded at the address of an unloaded one.
  /// So the addresses are forgotten. Images live as long as the commands that
  /// use them.
  void forget();

private:
  std::mutex mutex;
  std::map<const char *, std::shared_ptr<KernelImage>> images;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_KERNELS_KERNELIMAGE_H
