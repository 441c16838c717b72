#include "KernelImage.h"

#include <fmt/format.h>

namespace tpsp::rt {

KernelImage::~KernelImage() {
  if (library)
    (void)cudaLibraryUnload(library);
}

Status KernelImage::load(const void *image) {
  char log[2048] = "";
  cudaJitOption options[] = {cudaJitErrorLogBuffer,
                             cudaJitErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  Status status =
      checkCuda(cudaLibraryLoadData(&library, image, options, values,
                                    /*numJitOptions=*/2, nullptr, nullptr, 0),
                "cudaLibraryLoadData");
  log[sizeof log - 1] = 0;
  if (status.ok() || !log[0])
    return status;
  return {status.code(), fmt::format("{}: {}", status.message(), log)};
}

Status KernelImage::find(const char *name, cudaKernel_t &out) const {
  Status status = checkCuda(cudaLibraryGetKernel(&out, library, name),
                            "cudaLibraryGetKernel");
  if (status.ok())
    return {};
  return {status.code(),
          fmt::format("{} for the kernel '{}'", status.message(), name)};
}

Status KernelImages::find(const char *image,
                          std::shared_ptr<KernelImage> &out) {
  std::lock_guard<std::mutex> lock(mutex);
  auto known = images.find(image);
  if (known == images.end()) {
    auto fresh = std::make_shared<KernelImage>();
    TPSP_TRY(fresh->load(image));
    known = images.emplace(image, std::move(fresh)).first;
  }
  out = known->second;
  return {};
}

void KernelImages::forget() {
  std::lock_guard<std::mutex> lock(mutex);
  images.clear();
}

} // namespace tpsp::rt
