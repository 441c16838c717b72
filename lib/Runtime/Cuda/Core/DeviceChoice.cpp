#include "DeviceChoice.h"

#include "tpsp/Runtime/Transport.h"

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <unistd.h>

namespace tpsp::rt {
namespace {

/// The tags of exchanges in this file; ProcessGroup uses 1 and 2.
enum Tag { HostsTag = 3, DevicesTag = 4, NcclTag = 5 };

/// The lowest compute capability that this object has machine code for.
constexpr int leastCapability = 8;

Status unsupported(std::string message) {
  return {TPSP_RT_UNSUPPORTED, std::move(message)};
}

std::string versionName(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

Status explainDriver() {
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);
  if (driver == 0)
    return unsupported("--backend cuda: there is no NVIDIA driver on this "
                       "machine; install one that supports CUDA " +
                       versionName(CUDART_VERSION) + ", or use --backend cpu");
  return unsupported(fmt::format(
      "--backend cuda: the NVIDIA driver supports CUDA {} and this build needs "
      "{}; install a newer driver, or use --backend cpu",
      versionName(driver), versionName(CUDART_VERSION)));
}

Status countDevices(int &count) {
  cudaError_t result = cudaGetDeviceCount(&count);
  if (result != cudaSuccess)
    (void)cudaGetLastError();
  // Without a driver's library, the CUDA runtime reports that the driver is too
  // old.
  if (result == cudaErrorInsufficientDriver || result == cudaErrorStubLibrary)
    return explainDriver();
  if (result == cudaErrorNoDevice || (result == cudaSuccess && count == 0))
    return unsupported("--backend cuda: the NVIDIA driver sees no GPU; if "
                       "there is one, see whether CUDA_VISIBLE_DEVICES hides "
                       "it, else use --backend cpu");
  return checkCuda(result, "cudaGetDeviceCount");
}

std::string consumersOf(const WorldConfig &config) {
  return config.arenaConsumers.empty()
             ? ""
             : "; the largest in an arena: " + config.arenaConsumers;
}

Status checkDevice(int device, int64_t ranksOnIt, const WorldConfig &config,
                   cudaDeviceProp &properties) {
  TPSP_CUDA(cudaGetDeviceProperties, &properties, device);
  if (properties.major < leastCapability)
    return unsupported(fmt::format(
        "--backend cuda: GPU {} ({}) has compute capability {}.{}; this build "
        "is for {}.0 and newer",
        device, properties.name, properties.major, properties.minor,
        leastCapability));
  TPSP_CUDA(cudaSetDevice, device);
  size_t free = 0, total = 0;
  TPSP_CUDA(cudaMemGetInfo, &free, &total);
  if (double(config.arenaBytes) * double(ranksOnIt) <= double(free))
    return {};
  return unsupported(fmt::format(
      "{} of {} bytes {} not fit GPU {} ({}), which has {} free of {}{}; use "
      "more GPUs, smaller shapes or --rematerialize",
      ranksOnIt == 1 ? "an arena" : fmt::format("{} arenas", ranksOnIt),
      config.arenaBytes, ranksOnIt == 1 ? "does" : "do", device,
      properties.name, free, total, consumersOf(config)));
}

Status cannotAgree(const ExchangeFailure &failure) {
  using Kind = ExchangeFailure::Kind;
  if (failure.kind == Kind::Aborted)
    return {TPSP_RT_ABORTED,
            failure.text.empty() ? "another rank failed" : failure.text};
  bool isLate = failure.kind == Kind::TimedOut || failure.kind == Kind::Stopped;
  return {isLate ? TPSP_RT_TIMEOUT : TPSP_RT_INTERNAL,
          fmt::format("the processes could not agree on their GPUs{}{}",
                      failure.text.empty() ? "" : ": ", failure.text)};
}

/// Sends `mine` to all ranks and receives theirs, in the order of ranks.
template <typename Value>
Status exchangeAll(const BackendContext &world, int32_t tag, const Value &mine,
                   std::vector<Value> &all) {
  Transport &transport = *world.config.transport;
  all.assign(size_t(transport.size()), mine);
  Value sent = mine;
  Exchange exchange;
  exchange.tag = tag;
  exchange.timeoutSeconds = world.config.timeoutSeconds;
  auto piece = [](int64_t rank, Value &value) {
    return Piece{rank, reinterpret_cast<std::byte *>(&value), 1, sizeof value,
                 sizeof value};
  };
  for (int64_t rank = 0; rank < transport.size(); ++rank) {
    if (rank == transport.rank())
      continue;
    exchange.sends.push_back(piece(rank, sent));
    exchange.receives.push_back(piece(rank, all[size_t(rank)]));
  }
  ExchangeFailure failure;
  if (exchange.sends.empty() ||
      transport.everyone().exchange(exchange, failure))
    return {};
  return cannotAgree(failure);
}

/// A hash of this host, which stays the same while the host runs.
uint64_t hostHash() {
  char name[256] = "";
  (void)gethostname(name, sizeof name - 1);
  return std::hash<std::string>()(name);
}

struct DeviceIdentity {
  uint64_t host;
  char uuid[16];
};

/// Two processes on one GPU would wait for each other's kernels for ever.
Status checkDistinct(const BackendContext &world, uint64_t host,
                     const cudaDeviceProp &properties) {
  DeviceIdentity mine{host, {}};
  std::memcpy(mine.uuid, &properties.uuid, sizeof mine.uuid);
  std::vector<DeviceIdentity> all;
  TPSP_TRY(exchangeAll(world, DevicesTag, mine, all));
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (all[i].host == all[j].host &&
          std::memcmp(all[i].uuid, all[j].uuid, sizeof mine.uuid) == 0)
        return unsupported(fmt::format(
            "--backend cuda: ranks {} and {} are processes on one GPU; start "
            "no more processes on a host than it has GPUs, or run without "
            "mpirun to have ranks that share one",
            j, i));
  return {};
}

Status chooseForProcess(const BackendContext &world, DeviceChoice &out) {
  Transport &transport = *world.config.transport;
  out.isProcess = true;
  uint64_t host = hostHash();
  std::vector<uint64_t> hosts;
  TPSP_TRY(exchangeAll(world, HostsTag, host, hosts));
  int64_t place = 0;
  for (int64_t rank = 0; rank < transport.rank(); ++rank)
    place += hosts[size_t(rank)] == host;
  out.own = int(place % out.count);
  cudaDeviceProp properties;
  TPSP_TRY(checkDevice(out.own, 1, world.config, properties));
  return checkDistinct(world, host, properties);
}

Status chooseForThreads(const BackendContext &world, DeviceChoice &out) {
  int64_t ranks = world.mesh.numRanks();
  out.isShared = ranks > out.count;
  if (out.isShared && world.config.cuda.ncclAlways)
    return unsupported(fmt::format("--nccl-always: NCCL needs a GPU for each "
                                   "rank, and there are {} ranks and {} GPUs",
                                   ranks, out.count));
  int64_t used = out.isShared ? 1 : ranks;
  cudaDeviceProp properties;
  for (int64_t i = 0; i < used; ++i)
    TPSP_TRY(checkDevice(int(i), out.isShared ? ranks : 1, world.config,
                         properties));
  return {};
}

/// Collectives on several streams run concurrently. With NCCL before 2.26, GPUs
/// may begin them in different orders, and wait for each other for ever.
Status checkNcclVersion(const WorldConfig &config) {
  constexpr int least = NCCL_VERSION(2, 26, 0);
  int version = 0;
  TPSP_NCCL(nullptr, ncclGetVersion, &version);
  if (config.numStreams <= 1 || version >= least)
    return {};
  return unsupported(fmt::format(
      "--backend cuda: libnccl.so.2 is {}.{}.{}, and collectives on several "
      "streams need 2.26 or newer; install that, or run with --overlap off",
      version / 10000, version / 100 % 100, version % 100));
}

/// Distributes rank 0's id to all processes.
Status agreeOnId(const BackendContext &world, DeviceChoice &choice) {
  Transport *transport = world.config.transport;
  if (!transport || transport->rank() == 0)
    TPSP_NCCL(nullptr, ncclGetUniqueId, &choice.id);
  if (!transport)
    return {};
  std::vector<ncclUniqueId> ids;
  TPSP_TRY(exchangeAll(world, NcclTag, choice.id, ids));
  choice.id = ids[0];
  return {};
}

} // namespace

Status chooseDevices(const BackendContext &world, DeviceChoice &out) {
  TPSP_TRY(countDevices(out.count));
  if (world.config.transport)
    TPSP_TRY(chooseForProcess(world, out));
  else
    TPSP_TRY(chooseForThreads(world, out));
  out.usesNccl = !out.isShared &&
                 (world.mesh.numRanks() > 1 || world.config.cuda.ncclAlways);
  if (!out.usesNccl)
    return {};
  TPSP_TRY(checkNcclVersion(world.config));
  return agreeOnId(world, out);
}

Status takeInventory(DeviceInventory &out) {
  int count = 0;
  TPSP_TRY(countDevices(count));
  cudaDeviceProp properties;
  TPSP_CUDA(cudaGetDeviceProperties, &properties, 0);
  out.count = count;
  out.name = properties.name;
  out.cores = properties.multiProcessorCount;
  out.memoryBytes = int64_t(properties.totalGlobalMem);
  return {};
}

} // namespace tpsp::rt
