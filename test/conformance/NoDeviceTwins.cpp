// Stands in for DeviceTwins.cpp in a build without the CUDA toolkit.
#include "DeviceTwins.h"

namespace tpsp::rt::conformance {

bool addDeviceTwin(tpsp_rt_kernel_function, const char *) { return true; }
bool addSpeakingTwin(tpsp_rt_kernel_function, const char *) { return true; }
const tpsp_rt_device_kernel *deviceTwin(tpsp_rt_kernel_function) {
  return nullptr;
}
const char *cudaProblem(int) {
  return "the CUDA toolkit was not found when this was built";
}
bool isOnDoubles() { return false; }
void *findInDouble(const char *) { return nullptr; }

} // namespace tpsp::rt::conformance
