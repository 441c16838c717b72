// Devices, memory and copies. "Device" memory is the host's. Copies check that
// they stay inside an allocation.
#include "DoubleStream.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>

namespace {

constexpr size_t memoryOfDevice = size_t(1) << 30;

struct Devices {
  std::mutex mutex;
  int count = std::getenv("TPSP_DOUBLE_DEVICES")
                  ? std::atoi(std::getenv("TPSP_DOUBLE_DEVICES"))
                  : 1;
  /// Bytes and device of each allocation, by address.
  std::map<const char *, std::pair<size_t, int>> blocks;
  std::map<int, size_t> used;
};

Devices &devices() {
  static auto *instance = new Devices;
  return *instance;
}

thread_local int currentDevice = 0;

/// Whether [address, address + bytes) is inside one allocation.
bool isDeviceMemory(const void *address, size_t bytes) {
  Devices &all = devices();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto *at = static_cast<const char *>(address);
  auto behind = all.blocks.upper_bound(at);
  if (behind == all.blocks.begin())
    return false;
  auto block = std::prev(behind);
  size_t offset = size_t(at - block->first);
  return offset <= block->second.first && bytes <= block->second.first - offset;
}

} // namespace

void tpspDoubleSetDevices(int count) {
  std::lock_guard<std::mutex> lock(devices().mutex);
  devices().count = count;
}

TPSP_DOUBLE cudaError_t cudaGetDeviceCount(int *count) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  std::lock_guard<std::mutex> lock(devices().mutex);
  // The real function returns this without a driver.
  if (devices().count < 0)
    return cudaErrorInsufficientDriver;
  *count = devices().count;
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaDriverGetVersion(int *version) {
  std::lock_guard<std::mutex> lock(devices().mutex);
  // A count of -1 stands for no driver, -2 for the driver of CUDA 12.4.
  *version = devices().count == -1 ? 0 : devices().count == -2 ? 12040 : 13000;
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaSetDevice(int device) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  std::lock_guard<std::mutex> lock(devices().mutex);
  if (device < 0 || device >= devices().count)
    return cudaErrorInvalidDevice;
  currentDevice = device;
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaGetDevice(int *device) {
  *device = currentDevice;
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaGetDeviceProperties(cudaDeviceProp *out,
                                                int device) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  *out = {};
  std::strcpy(out->name, "test double");
  out->major = 9;
  out->totalGlobalMem = memoryOfDevice;
  out->multiProcessorCount = 12;
  std::memcpy(&out->uuid, &device, sizeof device);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  std::lock_guard<std::mutex> lock(devices().mutex);
  *total = memoryOfDevice;
  *free = memoryOfDevice - devices().used[currentDevice];
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaMalloc(void **out, size_t bytes) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (breaksCapture())
    return cudaErrorStreamCaptureUnsupported;
  // Long enough for other GPUs to begin a collective that waits for this one.
  if (currentDevice > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  doubleAllocatesOrLoads();
  Devices &all = devices();
  std::lock_guard<std::mutex> lock(all.mutex);
  if (bytes > memoryOfDevice - all.used[currentDevice])
    return cudaErrorMemoryAllocation;
  *out = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  // Only the first MiB of a large block is filled, to be quick.
  std::memset(*out, 0xa5, bytes < (1 << 20) ? bytes : 1 << 20);
  all.blocks[static_cast<const char *>(*out)] = {bytes, currentDevice};
  all.used[currentDevice] += bytes;
  tpspDoubleCountObjects(1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaFree(void *address) {
  Devices &all = devices();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto block = all.blocks.find(static_cast<const char *>(address));
  if (block == all.blocks.end())
    return cudaErrorInvalidValue;
  all.used[block->second.second] -= block->second.first;
  all.blocks.erase(block);
  std::free(address);
  tpspDoubleCountObjects(-1);
  return cudaSuccess;
}

TPSP_DOUBLE cudaError_t cudaMemcpyAsync(void *target, const void *source,
                                        size_t bytes, cudaMemcpyKind kind,
                                        cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  bool toDevice = kind != cudaMemcpyDeviceToHost;
  bool fromDevice = kind != cudaMemcpyHostToDevice;
  if (isDeviceMemory(target, bytes) != toDevice ||
      isDeviceMemory(source, bytes) != fromDevice)
    return cudaErrorInvalidValue;
  return doubleEnqueue(stream, [=] { std::memcpy(target, source, bytes); });
}

TPSP_DOUBLE cudaError_t cudaMemset2DAsync(void *target, size_t pitch, int value,
                                          size_t width, size_t height,
                                          cudaStream_t stream) {
  if (tpspDoubleEnter(__func__))
    return cudaErrorUnknown;
  if (width > pitch ||
      !isDeviceMemory(target, height ? (height - 1) * pitch + width : 0))
    return cudaErrorInvalidValue;
  return doubleEnqueue(stream, [=] {
    for (size_t row = 0; row < height; ++row)
      std::memset(static_cast<char *>(target) + row * pitch, value, width);
  });
}
