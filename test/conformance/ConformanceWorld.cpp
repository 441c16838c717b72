#include "ConformanceWorld.h"

#include "DeviceTwins.h"
#include "MailboxBackend.h"

#include "tpsp/Abi/ElementType.h"
#include "tpsp/Runtime/BuiltinBackends.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>

namespace tpsp::rt::conformance {
namespace {

/// Excludes a backend, or one of its cases, from the tests of a call.
struct Exclusion {
  const char *backend, *call, *reason;
};

/// "*" stands for every call.
constexpr Exclusion exclusions[] = {
    {"trace", "*",
     "computes nothing by design; TraceTest holds what it prints"},
    {"messages", "what others call",
     "a message carries a hash of its sender's call, not its description"},
    {"cuda", "orders of issue that differ",
     "ranks meet on the host where they issue a collective; plans issue the "
     "same commands in the same order on all ranks"},
    {"cuda", "transfer",
     "transfers are of stages, which have orders of their own"},
    {"CudaNccl", "16-bit sums in f32", "NCCL adds up in the element's type"},
    {"CudaNccl", "streams while commands are new",
     "a command's first use waits for the rank's streams: it may load code, "
     "which must not happen under a collective"},
};

/// A function rather than a constant, because test suites are instantiated
/// before main.
std::vector<BackendCase> knownBackends() {
  return {{"Cpu", "cpu", 1},
          {"CpuTwoThreads", "cpu", 2},
          {"CpuMessages", "messages", 1},
          {"CudaShared", "cuda", 1, /*gpus=*/1},
          {"CudaNccl", "cuda", 1, /*gpus=*/8},
          {"Trace", "trace", 1}};
}

/// Calls visitor(T()) with the type that stores `dtype`.
template <typename Visitor> void visitStorage(int64_t dtype, Visitor visitor) {
  switch (dtype) {
  case TPSP_RT_F32:
    return visitor(float());
  case TPSP_RT_BF16:
  case TPSP_RT_F16:
    return visitor(uint16_t());
  case TPSP_RT_F64:
    return visitor(double());
  case TPSP_RT_I32:
    return visitor(int32_t());
  default:
    return visitor(int64_t());
  }
}

/// Fails a run of the whole suite in which a call of calls.def is missing.
class EveryCallIsTested final : public testing::Environment {
public:
  void add(EntryPoint call) {
    std::lock_guard<std::mutex> lock(mutex);
    added.insert(call);
  }

  void TearDown() override {
    if (testing::GTEST_FLAG(filter) != "*")
      return;
#define TPSP_RT_CALL(NAME, COMMAND, NATURE)                                    \
  EXPECT_TRUE(added.count(tpsp_rt_##NAME)) << #NAME << " has no test";
#include "tpsp/Abi/calls.def"
#undef TPSP_RT_CALL
  }

private:
  std::mutex mutex;
  std::set<EntryPoint> added;
};

auto *const testedCalls = static_cast<EveryCallIsTested *>(
    testing::AddGlobalTestEnvironment(new EveryCallIsTested));

std::vector<int64_t> coordinatesOf(const Mesh &mesh, int64_t rank) {
  std::vector<int64_t> result(mesh.size());
  for (size_t i = mesh.size(); i-- > 0; rank /= mesh[i].size)
    result[i] = rank % mesh[i].size;
  return result;
}

} // namespace

std::vector<BackendCase> conformingBackends() {
  std::vector<BackendCase> held;
  for (const BackendCase &each : knownBackends())
    if (exclusion(each, "*").empty())
      held.push_back(each);
  return held;
}

std::string exclusion(const BackendCase &backend, const std::string &call) {
  for (const Exclusion &each : exclusions)
    if ((backend.backend == each.backend || backend.name == each.backend) &&
        call == each.call)
      return each.reason;
  if (backend.gpus > 0 && call == "kernels that speak to the test" &&
      !isOnDoubles())
    return "a GPU's kernel does not reach the test's variables";
  return "";
}

Plan &Plan::add(EntryPoint call, Params params, std::vector<int64_t> buffers,
                std::string name, tpsp_rt_kernel_function kernel) {
  testedCalls->add(call);
  items.push_back(
      {call, std::move(params), std::move(buffers), std::move(name), {}, {}});
  Item &item = items.back();
  item.command = {int64_t(items.size()) - 1,
                  currentStream,
                  item.params.data(),
                  int64_t(item.params.size()),
                  item.buffers.data(),
                  int64_t(item.buffers.size()),
                  nullptr,
                  0,
                  nullptr,
                  0,
                  kernel,
                  deviceTwin(kernel),
                  item.name.c_str()};
  return *this;
}

Plan &Plan::withTiles(std::vector<int64_t> tiles) {
  Item &item = items.back();
  item.tiles = std::move(tiles);
  item.command.tiles = item.tiles.data();
  item.command.num_tiles = int64_t(item.tiles.size());
  return *this;
}

tpsp_rt_status Plan::issue(tpsp_rt_rank *rank) const {
  for (const Item &item : items)
    if (tpsp_rt_status code = item.call(rank, &item.command))
      return code;
  return TPSP_RT_OK;
}

Status Plan::step(Rank &rank) const {
  return rank.result(issue(rank.handle()));
}

Status Plan::stepOrReplay(Rank &rank) const {
  return rank.step(this,
                   [this](tpsp_rt_rank *handle) { return issue(handle); });
}

std::vector<std::byte> toBytes(int64_t dtype,
                               const std::vector<double> &values) {
  std::vector<std::byte> bytes(values.size() * elementBytes(dtype));
  visitStorage(dtype, [&](auto zero) {
    for (size_t i = 0; i < values.size(); ++i) {
      auto stored = decltype(zero)(values[i]);
      if (const HalfFloat *half = halfFloat(dtype))
        stored = half->round(float(values[i]));
      std::memcpy(bytes.data() + i * sizeof stored, &stored, sizeof stored);
    }
  });
  return bytes;
}

std::vector<double> fromBytes(int64_t dtype, const std::byte *bytes,
                              int64_t count) {
  std::vector<double> values(count);
  visitStorage(dtype, [&](auto stored) {
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&stored, bytes + i * sizeof stored, sizeof stored);
      const HalfFloat *half = halfFloat(dtype);
      values[i] = half ? half->widen(uint16_t(stored)) : double(stored);
    }
  });
  return values;
}

std::vector<double> randomValues(int64_t dtype, int64_t count,
                                 std::mt19937 &random) {
  std::vector<double> values(count);
  bool integer = dtype == TPSP_RT_I32 || dtype == TPSP_RT_I64;
  std::uniform_real_distribution<double> real(-1, 1);
  std::uniform_int_distribution<int> whole(-100, 100);
  for (double &value : values)
    value = integer ? whole(random) : real(random);
  return fromBytes(dtype, toBytes(dtype, values).data(), count);
}

unsigned testSeed() {
  const char *given = std::getenv("TPSP_TEST_SEED");
  return given ? std::atoi(given) : 20240607;
}

std::vector<Mesh> testMeshes() {
  return {{},
          {{"x", 2}},
          {{"x", 4}},
          {{"x", 2}, {"y", 2}},
          {{"x", 2}, {"y", 3}},
          {{"x", 8}}};
}

std::vector<std::vector<int64_t>> axisLists(const Mesh &mesh) {
  std::vector<std::vector<int64_t>> lists = {{}};
  for (int64_t i = 0; i < int64_t(mesh.size()); ++i) {
    lists.push_back({i});
    for (int64_t j = 0; j < int64_t(mesh.size()); ++j)
      if (i != j)
        lists.push_back({i, j});
  }
  return lists;
}

int64_t rankCount(const Mesh &mesh) {
  int64_t count = 1;
  for (const MeshAxis &axis : mesh)
    count *= axis.size;
  return count;
}

std::vector<int64_t> groupOf(const Mesh &mesh, int64_t rank,
                             const std::vector<int64_t> &axes) {
  auto isIn = [&](int64_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  std::vector<int64_t> here = coordinatesOf(mesh, rank);
  std::vector<std::pair<std::vector<int64_t>, int64_t>> keyed;
  for (int64_t other = 0; other < rankCount(mesh); ++other) {
    std::vector<int64_t> there = coordinatesOf(mesh, other), key;
    bool same = true;
    for (int64_t axis = 0; axis < int64_t(mesh.size()); ++axis)
      same = same && (isIn(axis) || there[axis] == here[axis]);
    for (int64_t axis : axes)
      key.push_back(there[axis]);
    if (same)
      keyed.push_back({key, other});
  }
  std::sort(keyed.begin(), keyed.end());
  std::vector<int64_t> group;
  for (const auto &entry : keyed)
    group.push_back(entry.second);
  return group;
}

std::string describe(const Mesh &mesh, const std::vector<int64_t> &axes) {
  std::string text = "mesh ";
  for (const MeshAxis &axis : mesh)
    text += axis.name + "=" + std::to_string(axis.size) + " ";
  text += "axes";
  for (int64_t axis : axes)
    text += " " + mesh[axis].name;
  return text;
}

void ConformanceTest::SetUp() {
  registerBuiltinBackends();
  registerMailboxBackend();
  if (GetParam().gpus > 0)
    if (std::string problem = cudaProblem(GetParam().gpus); !problem.empty())
      GTEST_SKIP() << problem;
  skips(testedCall());
}

bool ConformanceTest::skips(const char *call) {
  std::string reason = exclusion(GetParam(), call);
  if (reason.empty())
    return false;
  [&] { GTEST_SKIP() << GetParam().backend << ": " << reason; }();
  return true;
}

bool ConformanceTest::isLeftOut() {
  if (GetParam().gpus == 0 || !isOnDoubles() || std::getenv("TPSP_NIGHTLY"))
    return false;
  // By chance: a fixed stride would be the number of some loop's turns, and
  // always take the same one of these.
  constexpr unsigned taken = 5;
  return choice() % taken != 0;
}

WorldConfig ConformanceTest::config(const Mesh &mesh,
                                    int64_t arenaBytes) const {
  WorldConfig result;
  result.backend = GetParam().backend;
  result.threadsPerRank = GetParam().threadsPerRank;
  result.mesh = mesh;
  result.arenaBytes = arenaBytes;
  result.numEvents = 4;
  return result;
}

std::unique_ptr<World> ConformanceTest::makeWorld(const WorldConfig &config) {
  std::unique_ptr<World> world;
  Status status = World::create(config, world);
  EXPECT_TRUE(status.ok()) << status.message();
  return world;
}

Status poison(Rank &rank, int64_t arenaBytes) {
  std::vector<std::byte> pattern(arenaBytes, std::byte(0xff));
  return rank.write(0, pattern.data(), arenaBytes);
}

Status snapshot(Rank &rank, int64_t arenaBytes, std::vector<std::byte> &out) {
  out.resize(arenaBytes);
  return rank.read(0, out.data(), arenaBytes);
}

} // namespace tpsp::rt::conformance
