/// What the conformance tests share: the backends they run on, typed data, and
/// a small plan of commands on poisoned arenas.
///
/// A backend joins by a line in knownBackends(); what it cannot do goes, with a
/// reason, into exclusions (both in ConformanceWorld.cpp).
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

/// A way to make worlds.
struct BackendCase {
  std::string name; // of the tests
  std::string backend;
  int threadsPerRank;
  /// cuda: GPUs that are wanted, 1 to have ranks share one; else 0.
  int gpus = 0;
};

inline std::ostream &operator<<(std::ostream &out, const BackendCase &c) {
  return out << c.name;
}

/// The backends that the suite holds to the contract.
std::vector<BackendCase> conformingBackends();

/// Why the case is not held to `call`, or "".
std::string exclusion(const BackendCase &backend, const std::string &call);

using EntryPoint = tpsp_rt_status (*)(tpsp_rt_rank *, const tpsp_rt_command *);

/// Commands with the storage they point to. Not copied: addresses are the
/// commands' identities.
class Plan {
public:
  Plan() = default;
  Plan(const Plan &) = delete;

  /// Commands added from here on are of this stream; at first 0.
  Plan &on(int64_t stream) {
    currentStream = stream;
    return *this;
  }

  Plan &add(EntryPoint call, Params params, std::vector<int64_t> buffers,
            std::string name = "%test",
            tpsp_rt_kernel_function kernel = nullptr);

  /// Makes buffers of the command that was added last the rank's own tiles
  /// (tpsp_rt_command.tiles).
  Plan &withTiles(std::vector<int64_t> tiles);

  /// One step: issues every command until one fails.
  Status step(Rank &rank) const;
  /// The same by Rank::step, which may record and replay it.
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

/// Values of one element type: what they are as double, and as bytes.
std::vector<std::byte> toBytes(int64_t dtype,
                               const std::vector<double> &values);
std::vector<double> fromBytes(int64_t dtype, const std::byte *bytes,
                              int64_t count);

/// Random values that the element type represents exactly: in [-1, 1), or
/// integers in [-100, 100].
std::vector<double> randomValues(int64_t dtype, int64_t count,
                                 std::mt19937 &random);

/// What a test's failure messages should carry: the seed is TPSP_TEST_SEED or a
/// fixed one.
unsigned testSeed();

using Mesh = std::vector<MeshAxis>;

/// {}, 2, 4, 2x2, 2x3 and 8 ranks.
std::vector<Mesh> testMeshes();

/// Every list of none, one or two different axes, in both orders.
std::vector<std::vector<int64_t>> axisLists(const Mesh &mesh);

int64_t rankCount(const Mesh &mesh);

/// The group of `rank` over `axes`, by comparing coordinates; worked out here
/// again and not asked of the runtime.
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

  /// Whether the backend is excluded from part of a test's claim; then the test
  /// is skipped.
  bool skips(const char *call);

  WorldConfig config(const Mesh &mesh, int64_t arenaBytes) const;

  /// How many steps a test takes to see all ways in which one runs: prepared,
  /// with what was prepared, and, where steps are recorded, replayed.
  int stepsToTry() const { return GetParam().gpus > 1 ? 3 : 2; }

  /// A world, or null and a failure.
  std::unique_ptr<World> makeWorld(const WorldConfig &config);

  std::mt19937 random;
};

/// Fills a rank's arena with NaN patterns.
Status poison(Rank &rank, int64_t arenaBytes);

/// The arena as it now is.
Status snapshot(Rank &rank, int64_t arenaBytes, std::vector<std::byte> &out);

} // namespace tpsp::rt::conformance

#endif // TPSP_TEST_CONFORMANCE_CONFORMANCEWORLD_H
