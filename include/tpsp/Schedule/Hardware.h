/// A description of a machine: what the cost model and the simulator know of
/// it. Every figure is of an isolated operation; nothing here was fitted to a
/// layer or a step. JSON files (hardware/*.json, docs/Hardware.md) hold the
/// same under keys that carry their units. Here everything is in seconds,
/// bytes, bytes per second and floating-point operations per second.
#ifndef TPSP_SCHEDULE_HARDWARE_H
#define TPSP_SCHEDULE_HARDWARE_H

#include "tpsp/Algebra/Collective.h"
#include "tpsp/Algebra/Mesh.h"
#include "tpsp/Schedule/HardwareChoice.h"

#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tpsp {

/// How a collective travels. InNetwork: the switch adds (NVLS, SHARP).
enum class CollectiveAlgorithm { Ring, Tree, InNetwork };

template <> struct EnumNames<CollectiveAlgorithm> {
  static constexpr const char *all[] = {"ring", "tree", "in-network"};
};

/// A function of a size in bytes: bytes per second, or seconds. Ascending.
struct SizePoint {
  double bytes = 0, value = 0;
};
using SizeTable = std::vector<SizePoint>;

/// How fast matmuls of one element type are, by shape.
struct MatmulRates {
  /// The data sheet's; for the utilisation that is reported.
  double peak = 0;
  /// What a long run of large products keeps up; no shape is faster.
  double sustained = 0;
  /// The grid that was measured, ascending, and the rates on it, m-major and k
  /// fastest. On a CPU they are of one core.
  std::vector<double> m, n, k, rates;
  /// By layout, on the same grid: how much faster than `rates`, the mean, the
  /// products were that transpose so. Empty where none was measured apart.
  std::array<std::vector<double>, 4> relative;
  /// By MatmulWork::alignment: how much faster products are of which some rows
  /// begin at multiples of no more bytes than that. As fast where none was
  /// measured.
  SizeTable aligned;

  static size_t layoutOf(bool transposeA, bool transposeB) {
    return 2 * size_t(transposeA) + size_t(transposeB);
  }
  double at(size_t i, size_t j, size_t l) const { return rates[cell(i, j, l)]; }
  double at(size_t i, size_t j, size_t l, size_t layout) const {
    const std::vector<double> &factors = relative[layout];
    return at(i, j, l) * (factors.empty() ? 1 : factors[cell(i, j, l)]);
  }

private:
  size_t cell(size_t i, size_t j, size_t l) const {
    return (i * n.size() + j) * k.size() + l;
  }
};

/// How fast attention in one call is, for one element type. What a causal mask
/// hides is not counted as work (AttentionWork::flops()).
struct AttentionRates {
  /// Rates on the grid, features-major.
  using Table = std::vector<double>;
  /// The grid that was measured, ascending: features of a head, and keys (as
  /// many as queries).
  std::vector<double> features, keys;
  /// By tableOf(). On a CPU they are of one core.
  std::array<Table, 4> tables;

  static size_t tableOf(bool isGradient, bool isCausal) {
    return 2 * size_t(isGradient) + size_t(isCausal);
  }
  double at(size_t table, size_t feature, size_t key) const {
    return tables[table][feature * keys.size() + key];
  }
};

/// What generated kernels are made of. On a CPU of one core.
struct KernelRates {
  /// Scalar operations, and calls of exp, tanh and the like, a second.
  double operations = 0, transcendentals = 0;
  /// Bytes a second that loads and stores of elements get from the caches.
  double cacheBandwidth = 0;
  /// Elements a second that are loaded or stored one at a time.
  double scattered = 0;
  /// What a kernel costs besides, and each of its work items.
  double startSeconds = 0, itemSeconds = 0;
};

/// One algorithm of one kind of collective on one tier of links.
struct CollectiveRates {
  CollectiveKind kind = CollectiveKind::AllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  /// The name of a tier of the description.
  std::string tier;
  /// Seconds of an empty collective: `latency`, and `hop` for every step of the
  /// algorithm. Between nodes a step from node to node is a `hop`, and one
  /// within a node an `insideHop`.
  double latency = 0, hop = 0, insideHop = 0;
  /// nccl-tests' bus bandwidth of a large one.
  double busBandwidth = 0;
  /// Seconds by size S (CollectiveWork::bytes) for the groups that were
  /// measured. With none the time is latency + S * bus factor / busBandwidth.
  std::map<int64_t, SizeTable> measured;
  /// Whether there is this algorithm for measured groups only (the ring is
  /// there for every group, a switch that adds may not be).
  bool measuredGroupsOnly = false;
};

/// What the figures of a description rest on, in words; empty if none do.
struct Basis {
  /// On the machine itself; by others, on such machines; from those of other
  /// operations or machines; chosen.
  std::string measured, published, derived, assumed;
};

struct Hardware {
  enum class Kind {
    Gpu, ///< a device for every rank
    Cpu  ///< all ranks share the cores of one machine
  };

  std::string name;
  Basis basis;
  Kind kind = Kind::Gpu;
  /// Streaming multiprocessors of a device, or cores of the machine.
  int64_t cores = 1;
  /// Memory of a device, or of the machine.
  int64_t memoryBytes = 0;
  /// Ranks are numbered row-major over the mesh's axes, and node i holds the
  /// ranks from i * devicesPerNode on. Not for CPUs: there, any number of ranks
  /// shares the machine.
  int64_t devicesPerNode = 1, nodes = 1;

  /// From the end of a command to the beginning of the next one on a stream.
  double launchSeconds = 0;
  /// What the host needs to issue a command.
  double issueSeconds = 0;
  /// For each rank, what a step costs besides its commands: on a CPU, to wake
  /// the rank's thread and to wait for it.
  double stepSeconds = 0;
  /// On a CPU, of a collective where every rank has a core of its own: cores
  /// sleep while their ranks wait.
  double wakeSeconds = 0;
  /// On a CPU, of a core, for a stream's thread to go on after it slept: until
  /// a command came, or an event.
  double handoffSeconds = 0;
  /// Rate at which memory serves a command that touches so many bytes. On a CPU
  /// of one core while all are busy; small sizes are served by its caches.
  SizeTable memory;
  KernelRates kernel;
  /// By element type: TPSP_RT_BF16, ...
  std::map<int64_t, MatmulRates> matmul;
  /// Likewise; empty where attention in one call was not measured.
  std::map<int64_t, AttentionRates> attention;

  /// Links inside a node and, with several nodes, between nodes.
  std::string insideTier, betweenTier;
  std::vector<CollectiveRates> collectives;
  /// Of `cores`, how many a running collective keeps from computing. On a CPU:
  /// threads of a rank that it keeps busy.
  double collectiveCores = 0;

  bool isCpu() const { return kind == Kind::Cpu; }
};

template <> struct EnumNames<Hardware::Kind> {
  static constexpr const char *all[] = {"gpu", "cpu"};
};

/// The rates of matmuls of an element type. If the description lacks it, they
/// are those of another type of its width: tensor cores are as fast with f16 as
/// with bf16. Null if it has neither.
const MatmulRates *matmulRatesOf(const Hardware &hardware, int64_t dtype);
/// Their peak on each of so many ranks, in FLOP/s; 0 if it has neither.
double matmulPeak(const Hardware &hardware, int64_t dtype, int64_t ranks);

/// Likewise of attention; null if the description has none of that width.
const AttentionRates *attentionRatesOf(const Hardware &hardware, int64_t dtype);

/// The built-in description of that name, or else the one in the file of that
/// name. With ":ring" or ":tree" behind it, all_reduce uses no other algorithm
/// on the tiers that have rates of it. `basis` says where there are none. It is
/// an error if there are none at all. The error says what is wrong and where,
/// and names the built-in ones.
llvm::Expected<Hardware> findHardware(llvm::StringRef text);

/// The names of the built-in descriptions, sorted.
std::vector<std::string> builtinHardware();

/// From JSON; `origin` is what messages call the text. Unknown keys, missing
/// ones and values out of range are refused with the key's path.
llvm::Expected<Hardware> parseHardware(llvm::StringRef text,
                                       llvm::StringRef origin);

/// To JSON, as parseHardware() reads it.
std::string toJson(const Hardware &hardware);

/// Whether a mesh fits: empty, or a sentence that says what does not.
std::string misfitOf(const Hardware &hardware, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_SCHEDULE_HARDWARE_H
