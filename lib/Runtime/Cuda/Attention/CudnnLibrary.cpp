#include "CudnnLibrary.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

/// The handle in which cudnn-frontend looks up its functions (CudnnGraph.cpp).
namespace cudnn_frontend {
extern void *cudnn_dlhandle;
void *cudnn_dlhandle = nullptr;
} // namespace cudnn_frontend

namespace tpsp::rt {
namespace {

/// Older versions mask keys after the last multiple of 128 by a copy from the
/// host, which a captured step cannot repeat.
constexpr size_t leastVersion = 91600;

/// If both versions are installed, cudnn-frontend loads libcudart.so.12, but
/// tpsp is linked with libcudart.so.13. This runs while the backend is loaded
/// and none of its threads exist, since setenv is not safe next to readers.
const int choice = setenv("CUDNN_FRONTEND_CUDART_LIB_NAME", "libcudart.so.13",
                          /*overwrite=*/0);

/// The functions of the library that are called without cudnn-frontend.
struct Library {
  decltype(&::cudnnGetVersion) getVersion = nullptr;
  decltype(&::cudnnGetErrorString) getErrorString = nullptr;
  decltype(&::cudnnCreate) create = nullptr;
  decltype(&::cudnnDestroy) destroy = nullptr;
  decltype(&::cudnnSetStream) setStream = nullptr;
  Status status;
};

std::string versionText(size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100,
                     version % 100);
}

Status refuse(const std::string &why) {
  return {TPSP_RT_UNSUPPORTED,
          fmt::format("{}; install cuDNN {} or newer for CUDA 13 "
                      "(libcudnn.so.9) where the loader finds it, or make the "
                      "plan with --attention rows",
                      why, versionText(leastVersion))};
}

template <typename Function>
bool find(void *handle, const char *name, Function &out) {
  out = reinterpret_cast<Function>(dlsym(handle, name));
  return out;
}

/// The library is never unloaded, because its threads and kernels cannot be
/// undone.
Library load() {
  Library library;
  void *handle = dlopen("libcudnn.so.9", RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    library.status =
        refuse(fmt::format("attention needs cuDNN ({})", dlerror()));
    return library;
  }
  bool isWhole = find(handle, "cudnnGetVersion", library.getVersion) &&
                 find(handle, "cudnnGetErrorString", library.getErrorString) &&
                 find(handle, "cudnnCreate", library.create) &&
                 find(handle, "cudnnDestroy", library.destroy) &&
                 find(handle, "cudnnSetStream", library.setStream);
  if (!isWhole)
    library.status = refuse("libcudnn.so.9 lacks functions of cuDNN");
  else if (library.getVersion() < leastVersion)
    library.status = refuse(fmt::format("cuDNN {} is too old for attention",
                                        versionText(library.getVersion())));
  else
    cudnn_frontend::cudnn_dlhandle = handle;
  return library;
}

const Library &library() {
  static const Library loaded = load();
  return loaded;
}

Status check(cudnnStatus_t result, const char *call) {
  if (result == CUDNN_STATUS_SUCCESS)
    return {};
  return {TPSP_RT_INTERNAL,
          fmt::format("{} failed: {}", call, library().getErrorString(result))};
}

} // namespace

Status loadCudnn() { return library().status; }

bool isCudnnSince(size_t version) { return library().getVersion() >= version; }

std::string cudnnVersion() { return versionText(library().getVersion()); }

CudnnHandle::~CudnnHandle() {
  if (handle)
    (void)library().destroy(handle);
}

Status CudnnHandle::create() {
  return check(library().create(&handle), "cudnnCreate");
}

Status CudnnHandle::setStream(cudaStream_t stream) {
  return check(library().setStream(handle, stream), "cudnnSetStream");
}

} // namespace tpsp::rt
