/// Kernels as a plan or the build has them: PTX or machine code. They are
/// loaded through the runtime's library calls, so that nothing here needs the
/// driver's own library.
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

  /// Once. The image may go afterwards.
  Status load(const void *image);

  Status find(const char *name, cudaKernel_t &out) const;

  /// Has PTX compiled for the GPU that is current, which else the kernel's
  /// first launch may do.
  Status compile(const char *name, cudaKernel_t kernel);

  /// Brings a kernel's code to the GPU that is current, which else its first
  /// launch does.
  Status bringToDevice(cudaKernel_t kernel, const char *name = nullptr) const;

  /// A failure has what the compiler of PTX says, if anything. The driver may
  /// ask it whenever a kernel is used for the first time. `name`: of the
  /// kernel, if the status does not have it.
  Status explained(const Status &status, const char *name = nullptr) const;

private:
  cudaLibrary_t library = nullptr;
  /// The driver reads the options, and writes the log, until the library is
  /// unloaded; the size it sets to what it has written. One GPU's at a time.
  std::mutex compiling;
  char log[2048] = "";
  cudaJitOption options[2] = {cudaJitErrorLogBuffer,
                              cudaJitErrorLogBufferSizeBytes};
  void *values[2] = {log, reinterpret_cast<void *>(sizeof log)};
};

/// The images of the plans that run, by their addresses. Thread-safe.
class KernelImages {
public:
  /// Loads `image` if nobody has.
  Status find(const char *image, std::shared_ptr<KernelImage> &out);

  /// After a run a plan may go and another come to its place. Images are then
  /// known no longer, and live as long as the commands that use them.
  void forget();

private:
  std::mutex mutex;
  std::map<const char *, std::shared_ptr<KernelImage>> images;
};

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_CUDA_KERNELS_KERNELIMAGE_H
