/// Shared by the conformance tests: the backends they run on, typed data, and
/// small plans of commands on poisoned arenas.
///
/// A backend is added by a line in knownBackends(). Calls that it cannot do are
/// listed, with a reason, in `exclusions`. Both are in ConformanceWorld.cpp.
#ifndef TPSP_TEST_CONFORMANCE_CONFORMANCEWORLD_H
#define TPSP_TEST_CONFORMANCE_CONFORMANCEWORLD_H

#include "tpsp/Abi/Commands.h"
#include "tpsp/Runtime/World.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace tpsp::rt::conformance {

/// A backend with settings of its world.
struct BackendCase {
  std::string name; // as in the names of tests
  std::string backend;
  int threadsPerRank;
  /// For CUDA the number of GPUs needed, where with 1 all ranks share it; else
  /// 0.
  int gpus = 0;
};

inline std::ostream &operator<<(std::ostream &out, const BackendCase &c) {
  return out << c.name;
}

/// The backends that the suite holds to the contract.
std::vector<BackendCase> conformingBackends();

/// Returns why the case is excluded from `call`, or "".
std::string exclusion(const BackendCase &backend, const std::string &call);

using EntryPoint = tpsp_rt_status (*)(tpsp_rt_rank *, const tpsp_rt_command *);

/// Commands with the storage they point to. A plan cannot be copied, because
/// the commands are identified by their addresses.
class Plan {
public:
  Plan() = default;
  Plan(const Plan &) = delete;

  /// Sets the stream of the commands that are added next; initially 0.
  Plan &on(int64_t stream) {
    currentStream = stream;
    return *this;
  }

  Plan &add(EntryPoint call, Params params, std::vector<int64_t> buffers,
            std::string name = "%test",
            tpsp_rt_kernel_function kernel = nullptr);

  /// Makes buffers of the last command the rank's own tiles
  /// (tpsp_rt_command.tiles).
  Plan &withTiles(std::vector<int64_t> tiles);

  /// One step: issues every command until one fails.
  Status step(Rank &rank) const;
  /// Runs one step by Rank::step, which may record and replay it.
  Status stepOrReplay(Rank &rank) const;

private:
  tpsp_rt_status issue(tpsp_rt_rank *rank) const;

  struct Item {
    EntryPoint call;
    Params params;
    std::vector<int64_t> buffers;
    std::string name;
    tpsp_rt_command command;
    std::vector<int64_t> tiles;
  };
  std::deque<Item> items;
  int64_t currentStream = 0;
};

/// Convert values of one element type between double and bytes.
std::vector<std::byte> toBytes(int64_t dtype,
                               const std::vector<double> &values);
std::vector<double> fromBytes(int64_t dtype, const std::byte *bytes,
                              int64_t count);

/// Random values that the element type represents exactly: in [-1, 1), or
/// integers in [-100, 100].
std::vector<double> randomValues(int64_t dtype, int64_t count,
                                 std::mt19937 &random);

/// Returns TPSP_TEST_SEED or a fixed seed. Failure messages should contain it.
unsigned testSeed();

using Mesh = std::vector<MeshAxis>;

/// Returns meshes of {}, 2, 4, 2x2, 2x3 and 8 ranks.
std::vector<Mesh> testMeshes();

/// Returns every list of none, one or two different axes, in both orders.
std::vector<std::vector<int64_t>> axisLists(const Mesh &mesh);

int64_t rankCount(const Mesh &mesh);

/// Returns the group of `rank` over `axes`, by comparing coordinates. Does not
/// use the runtime's own computation, which is under test.
std::vector<int64_t> groupOf(const Mesh &mesh, int64_t rank,
                             const std::vector<int64_t> &axes);

std::string describe(const Mesh &mesh, const std::vector<int64_t> &axes);

/// Tests that run on every backend.
class ConformanceTest : public testing::TestWithParam<BackendCase> {
protected:
  ConformanceTest() : random(testSeed()) {}

  /// Skips the test if the backend is excluded from `call`.
  void SetUp() override;
  virtual const char *testedCall() const { return ""; }

  /// Skips the test and returns true if the backend is excluded from `call`,
  /// which may be a part of what the test claims.
  bool skips(const char *call);

  /// Whether nested loops leave out this combination. On the fakes of CUDA's
  /// libraries they try one of five, unless TPSP_NIGHTLY is set. GPUs and the
  /// CPU backends try all.
  bool isLeftOut();

  WorldConfig config(const Mesh &mesh, int64_t arenaBytes) const;

  /// How many steps run every kind once: the step that prepares commands, the
  /// step that uses them and, if steps are recorded, the replayed step.
  int stepsToTry() const { return GetParam().gpus > 1 ? 3 : 2; }

  /// Returns a world, or null after reporting a failure.
  std::unique_ptr<World> makeWorld(const WorldConfig &config);

  std::mt19937 random;

private:
  /// Always the same, so that a test has the same combinations in each run.
  std::mt19937 choice;
};

/// Fills a rank's arena with NaN patterns.
Status poison(Rank &rank, int64_t arenaBytes);

/// Copies the rank's arena to `out`.
Status snapshot(Rank &rank, int64_t arenaBytes, std::vector<std::byte> &out);

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_CONFORMANCEWORLD_H
