// The CUDA backend: a shared object that the runtime loads on request
// (BackendPlugin.h).
#include "CudaRank.h"

#include "Runtime/Cuda/Attention/CudaAttention.h"
#include "tpsp/Runtime/BackendPlugin.h"
#include "tpsp/Runtime/DeviceInventory.h"

#include <cstdlib>

namespace tpsp::rt {
namespace {

class CudaBackend final : public Backend {
public:
  explicit CudaBackend(const BackendContext &context)
      : world{context, {}, {}, {}, nullptr, nullptr, nullptr, {false}} {}

  Status initialize() {
    TPSP_TRY(chooseDevices(world.context, world.devices));
    if (world.context.config.transport) {
      world.meetings = std::make_unique<ProcessMeetings>(world.context);
      world.post = std::make_unique<ProcessPost>(world.context);
    } else {
      auto threads = std::make_unique<ThreadMeetings>(world.context);
      world.threads = threads.get();
      world.meetings = std::move(threads);
      world.post = std::make_unique<ThreadPost>(world.context);
    }
    return world.builtinKernels.load();
  }

  Status createRank(int64_t rank, std::unique_ptr<BackendRank> &out) override {
    auto created = std::make_unique<CudaRank>(world, rank);
    TPSP_TRY(created->initialize());
    out = std::move(created);
    return {};
  }

  void abort() override {
    world.aborted = true;
    world.meetings->abort();
    world.post->abort();
  }

  void runFinished() override { world.images.forget(); }

private:
  CudaWorld world;
};

Status makeBackend(const BackendContext &context,
                   std::unique_ptr<Backend> &out) {
  auto created = std::make_unique<CudaBackend>(context);
  TPSP_TRY(created->initialize());
  out = std::move(created);
  return {};
}

} // namespace
} // namespace tpsp::rt

/// Implements BackendEntry.
extern "C" __attribute__((visibility("default"))) bool
tpsp_open_backend(int version, tpsp::rt::BackendFactory &out,
                  std::string &error) {
  if (version != tpsp::rt::backendPluginVersion) {
    error = "libtpsp_cuda.so is of another version of tpsp";
    return false;
  }
  // Communicators on different streams run concurrently. Without this setting,
  // their kernels may reach GPUs in different orders and wait for each other
  // for ever. NCCL reads it when it is first called; versions from 2.26 on know
  // it.
  (void)setenv("NCCL_LAUNCH_ORDER_IMPLICIT", "1", /*overwrite=*/0);
  out = tpsp::rt::makeBackend;
  return true;
}

/// Implements DeviceInventoryEntry.
extern "C" __attribute__((visibility("default"))) bool
tpsp_list_devices(tpsp::rt::DeviceInventory &out, std::string &error) {
  tpsp::rt::Status status = tpsp::rt::takeInventory(out);
  out.hasAttention = tpsp::rt::findAttentionLibrary().ok();
  error = status.message();
  return status.ok();
}
