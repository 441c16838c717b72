#include "KernelImage.h"

#include <fmt/format.h>

#include <cstring>

namespace tpsp::rt {

KernelImage::~KernelImage() {
  if (library)
    (void)cudaLibraryUnload(library);
}

Status KernelImage::load(const void *image) {
  return explained(
      checkCuda(cudaLibraryLoadData(&library, image, options, values,
                                    /*numJitOptions=*/2, nullptr, nullptr, 0),
                "cudaLibraryLoadData"));
}

Status KernelImage::find(const char *name, cudaKernel_t &out) const {
  return explained(checkCuda(cudaLibraryGetKernel(&out, library, name),
                             "cudaLibraryGetKernel"),
                   name);
}

Status KernelImage::compile(const char *name, cudaKernel_t kernel) {
  std::lock_guard<std::mutex> lock(compiling);
  values[1] = reinterpret_cast<void *>(sizeof log);
  return bringToDevice(kernel, name);
}

Status KernelImage::bringToDevice(cudaKernel_t kernel, const char *name) const {
  cudaFuncAttributes attributes;
  return explained(
      checkCuda(cudaFuncGetAttributes(&attributes,
                                      reinterpret_cast<const void *>(kernel)),
                "cudaFuncGetAttributes"),
      name);
}

Status KernelImage::explained(const Status &status, const char *name) const {
  if (status.ok())
    return status;
  std::string kernel = name ? fmt::format(" for the kernel '{}'", name) : "";
  // A full log has no terminating zero.
  std::string says(log, strnlen(log, sizeof log));
  return {status.code(), fmt::format("{}{}{}{}", status.message(), kernel,
                                     says.empty() ? "" : ": ", says)};
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
