/// A description of a machine for the cost model and the simulator. Every
/// figure belongs to an isolated operation; nothing was fitted to a layer or a
/// step. JSON files (hardware/*.json, docs/Hardware.md) have the same figures
/// under keys with units. Here the units are seconds, bytes, bytes per second
/// and FLOP/s.
#ifndef TPSP_SCHEDULE_HARDWARE_H
#define TPSP_SCHEDULE_HARDWARE_H

#include "tpsp/Algebra/Collective.h"
#include "tpsp/Algebra/Mesh.h"
#include "tpsp/Schedule/HardwareChoice.h"

#include "llvm/Support/Error.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tpsp {

/// The algorithm of a collective. InNetwork: the switch adds (NVLS, SHARP).
enum class CollectiveAlgorithm { Ring, Tree, InNetwork };

template <> struct EnumNames<CollectiveAlgorithm> {
  static constexpr const char *all[] = {"ring", "tree", "in-network"};
};

/// A point of a function of a size in bytes. Values are bytes per second, or
/// seconds.
struct SizePoint {
  double bytes = 0, value = 0;
};
using SizeTable = std::vector<SizePoint>;

/// Rates of matmuls of one element type, by shape, in FLOP/s.
struct MatmulRates {
  /// The data sheet's rate, to which reported utilisation refers.
  double peak = 0;
  /// The rate that a long run of large products sustains. No shape is faster.
  double sustained = 0;
  /// The measured grid, ascending, and the rates on it, with m slowest and k
  /// fastest. On a CPU they are rates of one core.
  std::vector<double> m, n, k, rates;
  /// By layout, on the same grid: the factor by which products of this layout
  /// are faster than `rates`, the mean. Empty if the layout was not measured
  /// separately.
  std::array<std::vector<double>, 4> relative;
  /// By MatmulWork::alignment: the factor on the rate of products whose rows
  /// have no better alignment. Without a measurement the factor is 1.
  SizeTable aligned;
  /// The factor on the rate of grouped products.
  double grouped = 1;

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

/// Rates of attention in one call for one element type, in FLOP/s. Work that a
/// causal mask hides does not count (AttentionWork::flops()).
struct AttentionRates {
  /// Rates on the grid, features-major.
  using Table = std::vector<double>;
  /// The measured grid, ascending: features of a head, and keys (as many as
  /// queries).
  std::vector<double> features, keys;
  /// Indexed by tableOf(). On a CPU they are rates of one core.
  std::array<Table, 4> tables;
  /// The factors on the rates, forward and backward, with segments or lengths.
  double hiddenForward = 1, hiddenBackward = 1;

  static size_t tableOf(bool isGradient, bool isCausal) {
    return 2 * size_t(isGradient) + size_t(isCausal);
  }
  double at(size_t table, size_t feature, size_t key) const {
    return tables[table][feature * keys.size() + key];
  }
};

/// Rates of the parts of generated kernels. On a CPU they are rates of one
/// core.
struct KernelRates {
  /// Scalar operations, and calls of exp, tanh and the like, per second.
  double operations = 0, transcendentals = 0;
  /// Bytes per second that the caches serve to loads and stores of elements.
  double cacheBandwidth = 0;
  /// Elements per second that are loaded or stored one at a time.
  double scattered = 0;
  /// Additional seconds of each kernel, and of each of its work items. On a
  /// GPU: of each block, which may have several items.
  double startSeconds = 0, itemSeconds = 0;
  /// Bytes per second that one block of a GPU reads and writes; 0: any number.
  double blockBandwidth = 0;
};

/// One algorithm of one kind of collective on one tier of links.
struct CollectiveRates {
  CollectiveKind kind = CollectiveKind::AllReduce;
  CollectiveAlgorithm algorithm = CollectiveAlgorithm::Ring;
  /// The name of a tier of the description.
  std::string tier;
  /// Seconds of an empty collective: `latency`, and `hop` for every step of the
  /// algorithm. Between nodes, a step from node to node takes `hop`, and a step
  /// within a node takes `insideHop`.
  double latency = 0, hop = 0, insideHop = 0;
  /// nccl-tests' bus bandwidth of a large collective. Between nodes: of one
  /// adapter.
  double busBandwidth = 0;
  /// Seconds by size S (CollectiveWork::bytes), for each measured group size.
  /// Without measurements the time is latency + S * bus factor / busBandwidth.
  std::map<int64_t, SizeTable> measured;
  /// Seconds by size S between nodes, of one group at a time. places[p][n] is
  /// of p ranks in each of n nodes. Without it the time follows from latency,
  /// steps and busBandwidth (CostModel).
  std::map<int64_t, std::map<int64_t, SizeTable>> places;
  /// Whether the algorithm exists for measured groups only. The ring exists for
  /// every group; a switch that adds may not.
  bool measuredGroupsOnly = false;
};

/// The sources of a description's figures, in words; empty if there are none of
/// a kind.
struct Basis {
  /// Measured on the machine itself; published by others for such machines;
  /// derived from figures of other operations or machines; assumed.
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
  /// The number of adapters between a node and the network, which all of its
  /// devices share evenly. If it is not given, each device has one.
  std::optional<int64_t> adaptersPerNode;

  /// Seconds from the end of a command to the beginning of the next command on
  /// a stream.
  double launchSeconds = 0;
  /// Seconds of the host to issue a command.
  double issueSeconds = 0;
  /// Seconds of a step besides its commands, per rank: on a CPU, waking the
  /// rank's thread and waiting for it.
  double stepSeconds = 0;
  /// On a CPU, additional seconds of a collective if every rank has a core of
  /// its own: cores sleep while their ranks wait.
  double wakeSeconds = 0;
  /// On a CPU, seconds of a core until a stream's thread continues after it
  /// slept, waiting for a command or an event.
  double handoffSeconds = 0;
  /// Bandwidth of memory for a command, by the bytes that it touches. On a CPU
  /// it is the bandwidth of one core while all are busy; its caches serve small
  /// sizes.
  SizeTable memory;
  KernelRates kernel;
  /// Rates of matmuls by element type: TPSP_RT_BF16, ...
  std::map<int64_t, MatmulRates> matmul;
  /// Rates of attention by element type; empty if attention in one call was not
  /// measured.
  std::map<int64_t, AttentionRates> attention;

  /// Links inside a node and, with several nodes, between nodes.
  std::string insideTier, betweenTier;
  std::vector<CollectiveRates> collectives;
  /// The number of `cores` that a running collective keeps from computing. On a
  /// CPU: the threads of a rank that it keeps busy.
  double collectiveCores = 0;

  bool isCpu() const { return kind == Kind::Cpu; }
};

template <> struct EnumNames<Hardware::Kind> {
  static constexpr const char *all[] = {"gpu", "cpu"};
};

/// The rates of matmuls of an element type. If the description lacks the type,
/// returns the rates of another type of its width: tensor cores are equally
/// fast with f16 and bf16. Null if it has neither.
const MatmulRates *matmulRatesOf(const Hardware &hardware, int64_t dtype);
/// The peak of these rates on each of `ranks` ranks, in FLOP/s; 0 if there are
/// no rates.
double matmulPeak(const Hardware &hardware, int64_t dtype, int64_t ranks);

/// The rates of attention of an element type, or of another type of its width.
/// Null if the description has neither.
const AttentionRates *attentionRatesOf(const Hardware &hardware, int64_t dtype);

/// The built-in description of that name, or else the description in the file
/// of that name. With the suffix ":ring" or ":tree", all_reduce uses only that
/// algorithm on the tiers that have rates for it. `basis` names the tiers
/// without rates. Fails if no tier has rates. Errors say what is wrong and
/// where, and list the built-in names.
llvm::Expected<Hardware> findHardware(llvm::StringRef text);

/// The names of the built-in descriptions, sorted.
std::vector<std::string> builtinHardware();

/// Parses JSON; messages call the text `origin`. Unknown keys, missing keys and
/// values out of range are refused with the key's path.
llvm::Expected<Hardware> parseHardware(llvm::StringRef text,
                                       llvm::StringRef origin);

/// Writes JSON that parseHardware() reads. If `base` is the name of a built-in
/// description, only the outermost keys that differ from it are written, and
/// "base".
std::string toJson(const Hardware &hardware, llvm::StringRef base = "");

/// Whether a mesh fits: empty, or a sentence that says what does not.
std::string misfitOf(const Hardware &hardware, const Mesh &mesh);

} // namespace tpsp

#endif // TPSP_SCHEDULE_HARDWARE_H
