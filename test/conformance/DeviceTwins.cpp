#include "DeviceTwins.h"

#include "DeviceTwinsOnHost.h"

#include "tpsp/Runtime/BackendPlugin.h"

#include <dlfcn.h>
#include <map>
#include <string>

/// The PTX of DeviceTwins.cu, made by the build.
extern "C" const unsigned char tpspDeviceTwins[];

namespace tpsp::rt::conformance {
namespace {

struct Twins {
  std::map<tpsp_rt_kernel_function, tpsp_rt_device_kernel> byKernel;
  std::map<const char *, tpsp_rt_kernel_function> speaking;
};

Twins &twins() {
  static Twins instance;
  return instance;
}

/// Returns libcudart, if the backend has loaded it.
void *runtimeLibrary() {
  static void *library = dlopen("libcudart.so.13", RTLD_NOW | RTLD_NOLOAD);
  return library;
}

template <typename Function> Function *find(const char *name) {
  void *library = runtimeLibrary();
  return reinterpret_cast<Function *>(library ? dlsym(library, name) : nullptr);
}

/// Loads the backend at the first call; returns the status of loading.
const Status &loaded() {
  static const Status status = [] {
    Status result = loadBackend("cuda");
    if (auto *add = find<decltype(tpspDoubleRegisterKernel)>(
            "tpspDoubleRegisterKernel"))
      registerTwinsOnHost(add, twins().speaking);
    return result;
  }();
  return status;
}

} // namespace

bool addDeviceTwin(tpsp_rt_kernel_function kernel, const char *entry,
                   int64_t sharedBytes) {
  twins().byKernel[kernel] = {reinterpret_cast<const char *>(tpspDeviceTwins),
                              entry,
                              /*threads=*/32,
                              /*items=*/8,
                              /*parts=*/1,
                              sharedBytes};
  return true;
}

bool addSpeakingTwin(tpsp_rt_kernel_function kernel, const char *entry) {
  twins().speaking[entry] = kernel;
  return addDeviceTwin(kernel, entry);
}

const tpsp_rt_device_kernel *deviceTwin(tpsp_rt_kernel_function kernel) {
  auto found = twins().byKernel.find(kernel);
  return found == twins().byKernel.end() ? nullptr : &found->second;
}

void *findInDouble(const char *name) {
  return isOnDoubles() ? dlsym(runtimeLibrary(), name) : nullptr;
}

bool isOnDoubles() {
  return loaded().ok() &&
         find<decltype(tpspDoubleSetDevices)>("tpspDoubleSetDevices");
}

const char *cudaProblem(int devices) {
  if (!loaded().ok())
    return loaded().message().c_str();
  if (isOnDoubles()) {
    find<decltype(tpspDoubleSetDevices)>("tpspDoubleSetDevices")(devices);
    return "";
  }
  int count = 0;
  auto *ask = find<decltype(cudaGetDeviceCount)>("cudaGetDeviceCount");
  if (!ask || ask(&count) != cudaSuccess || count == 0)
    return "there is no NVIDIA GPU, or no driver";
  if (count < devices)
    return "there are fewer GPUs than ranks";
  if (devices == 1 && count > 1)
    return "there are several GPUs; CUDA_VISIBLE_DEVICES=0 has ranks share one";
  return "";
}

} // namespace tpsp::rt::conformance
