#include "CudaKernel.h"
#include "tpsp/Abi/InvalidStatus.h"

namespace tpsp::rt {
namespace {

constexpr int64_t maxThreads = 1024, maxBlocks = INT32_MAX, maxParts = 65535,
                  maxShared = 1 << 20;

Status checkFigures(const tpsp_rt_device_kernel &k) {
  auto invalid = [&](const char *what, int64_t value) -> Status {
    return rt::invalid("the kernel '{}' for GPUs has {} = {}", k.entry, what,
                       value);
  };
  if (!k.image || !k.entry)
    return rt::invalid("the kernel for GPUs has no image or no name");
  if (k.threads < 1 || k.threads > maxThreads)
    return invalid("threads", k.threads);
  if (k.items < 1)
    return invalid("items", k.items);
  if (k.parts < 1 || k.parts > maxParts)
    return invalid("parts", k.parts);
  if (k.shared_bytes < 0 || k.shared_bytes > maxShared)
    return invalid("shared_bytes", k.shared_bytes);
  return {};
}

} // namespace

Status CudaKernel::prepare(const Call &call, const KernelCommand &command,
                           std::byte *arena, int device, KernelImages &images) {
  if (!call.device)
    return {TPSP_RT_UNSUPPORTED,
            "the plan has no kernels for GPUs; compile it for --backend cuda"};
  const tpsp_rt_device_kernel &k = *call.device;
  TPSP_TRY(checkFigures(k));
  int64_t count = command.grid / k.items + (command.grid % k.items != 0);
  if (count > maxBlocks)
    return invalid("{} blocks of the kernel '{}'; a GPU "
                   "takes {}",
                   count, k.entry, maxBlocks);
  TPSP_TRY(images.find(k.image, image));
  TPSP_TRY(image->find(k.entry, kernel));
  TPSP_TRY(image->compile(k.entry, kernel));
  // Without this attribute, a kernel gets 48 KiB minus its static shared
  // memory, whose size only the driver knows.
  if (k.shared_bytes > 0)
    TPSP_CUDA(cudaKernelSetAttributeForDevice, kernel,
              cudaFuncAttributeMaxDynamicSharedMemorySize, int(k.shared_bytes),
              device);
  for (int64_t offset : call.buffers)
    values.push_back(reinterpret_cast<uintptr_t>(arena + offset));
  for (int64_t position : call.positions)
    values.push_back(uint64_t(position));
  values.push_back(0);
  values.push_back(uint64_t(command.grid));
  for (uint64_t &value : values)
    parameters.push_back(&value);
  blocks = unsigned(count);
  parts = unsigned(k.parts);
  threads = unsigned(k.threads);
  sharedBytes = size_t(k.shared_bytes);
  return {};
}

Status CudaKernel::launch(cudaStream_t stream) {
  if (blocks == 0)
    return {};
  return image->explained(
      checkCuda(cudaLaunchKernel(reinterpret_cast<const void *>(kernel),
                                 dim3(blocks, parts), dim3(threads),
                                 parameters.data(), sharedBytes, stream),
                "cudaLaunchKernel"));
}

} // namespace tpsp::rt
