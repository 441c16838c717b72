#include "tpsp/Schedule/Hardware.h"
#include "tpsp/Abi/ElementType.h"
#include "tpsp/Abi/FileHandle.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace tpsp;

namespace tpsp {
// Defined in EmbeddedHardware.cpp.
const char *embeddedHardware(llvm::StringRef name);
llvm::ArrayRef<llvm::StringRef> embeddedHardwareNames();
} // namespace tpsp

/// The entry for an element type, or for another type of its width.
template <typename Rates>
static const Rates *ratesOfWidth(const std::map<int64_t, Rates> &all,
                                 int64_t dtype) {
  if (auto own = all.find(dtype); own != all.end())
    return &own->second;
  for (const auto &[other, rates] : all)
    if (rt::elementBytes(other) == rt::elementBytes(dtype))
      return &rates;
  return nullptr;
}

const MatmulRates *tpsp::matmulRatesOf(const Hardware &hardware,
                                       int64_t dtype) {
  return ratesOfWidth(hardware.matmul, dtype);
}

double tpsp::matmulPeak(const Hardware &hardware, int64_t dtype,
                        int64_t ranks) {
  const MatmulRates *rates = matmulRatesOf(hardware, dtype);
  double devices = hardware.isCpu() ? hardware.cores / double(ranks) : 1;
  return rates ? rates->peak * devices : 0;
}

const AttentionRates *tpsp::attentionRatesOf(const Hardware &hardware,
                                             int64_t dtype) {
  return ratesOfWidth(hardware.attention, dtype);
}

std::vector<std::string> tpsp::builtinHardware() {
  std::vector<std::string> names;
  for (llvm::StringRef name : embeddedHardwareNames())
    names.push_back(name.str());
  llvm::sort(names);
  return names;
}

static llvm::Expected<Hardware> findDescription(llvm::StringRef nameOrPath) {
  if (const char *text = embeddedHardware(nameOrPath))
    return parseHardware(text, nameOrPath);
  // A description has some KiB. The limit keeps a wrong path from reading a
  // huge file.
  constexpr int64_t longest = 16 << 20;
  std::string text;
  if (rt::Status read = rt::readWhole(nameOrPath.str(), longest, text);
      !read.ok())
    return llvm::createStringError(llvm::formatv(
        "'{0}' is no built-in hardware ({1}) and cannot be read as a file: {2}",
        nameOrPath, llvm::join(builtinHardware(), ", "), read.message()));
  return parseHardware(text, nameOrPath);
}

/// Whether a tier has the algorithm at all sizes, for any group. If another
/// algorithm was measured and this one was not, its figures only hold for small
/// messages.
static bool hasDataOf(const Hardware &hardware, CollectiveKind kind,
                      llvm::StringRef tier, CollectiveAlgorithm algorithm) {
  bool isThere = false, isMeasured = false, isAnyMeasured = false;
  for (const CollectiveRates &rates : hardware.collectives) {
    if (rates.kind != kind || rates.tier != tier)
      continue;
    bool isTable = !rates.measured.empty() || !rates.places.empty();
    isAnyMeasured |= isTable;
    if (rates.algorithm != algorithm || rates.measuredGroupsOnly)
      continue;
    isThere = true;
    isMeasured |= isTable;
  }
  return isThere && (isMeasured || !isAnyMeasured);
}

/// Removes the other algorithms of each kind for which the tier has this
/// algorithm.
static void pinTier(Hardware &hardware, llvm::StringRef tier,
                    CollectiveAlgorithm algorithm) {
  std::vector<CollectiveRates> left;
  for (const CollectiveRates &rates : hardware.collectives)
    if (rates.tier != tier || rates.algorithm == algorithm ||
        !hasDataOf(hardware, rates.kind, tier, algorithm))
      left.push_back(rates);
  hardware.collectives = std::move(left);
}

/// Pins all_reduce, the only kind with several algorithms, on the tiers that
/// have data. The basis says on which tiers it is unchanged. An error if no
/// tier has data.
static llvm::Error pin(Hardware &hardware, CollectiveAlgorithm algorithm) {
  std::vector<std::pair<std::string, const char *>> tiers;
  if (hardware.isCpu() || hardware.devicesPerNode > 1)
    tiers.push_back({hardware.insideTier, "in a node"});
  if (hardware.nodes > 1)
    tiers.push_back({hardware.betweenTier, "between nodes"});
  std::string missing;
  size_t found = 0;
  for (const auto &[tier, where] : tiers) {
    if (hasDataOf(hardware, CollectiveKind::AllReduce, tier, algorithm)) {
      pinTier(hardware, tier, algorithm);
      ++found;
    } else {
      missing = where;
    }
  }
  if (found == 0)
    return llvm::createStringError(llvm::formatv(
        "{0} has no rates of all_reduce by {1} that could be pinned; leave "
        "':{1}' away, or describe them in a file with \"base\": \"{0}\"",
        hardware.name, nameOf(algorithm)));
  if (!missing.empty()) {
    std::string &assumed = hardware.basis.assumed;
    assumed +=
        llvm::formatv("{0}all_reduce {1} by any algorithm (no {2} was "
                      "measured there)",
                      assumed.empty() ? "" : ", ", missing, nameOf(algorithm));
  }
  return llvm::Error::success();
}

static constexpr CollectiveAlgorithm pinnable[] = {CollectiveAlgorithm::Ring,
                                                   CollectiveAlgorithm::Tree};

/// The pins of a built-in description: "h100-sxm:ring".
static std::string pinsOf(llvm::StringRef name) {
  std::string known;
  for (CollectiveAlgorithm algorithm : pinnable) {
    Hardware copy = llvm::cantFail(findDescription(name));
    if (llvm::Error error = pin(copy, algorithm))
      llvm::consumeError(std::move(error));
    else
      known +=
          (known.empty() ? "" : ", ") + name.str() + ":" + nameOf(algorithm);
  }
  return known;
}

/// The seconds of "host=35us"; nullopt if the text has another form.
static std::optional<double> hostSecondsOf(llvm::StringRef suffix) {
  double microseconds = 0;
  bool isHost = suffix.consume_front("host=") && suffix.consume_back("us") &&
                !suffix.getAsDouble(microseconds) && microseconds >= 0 &&
                microseconds <= 1e6;
  return isHost ? std::optional(microseconds * 1e-6) : std::nullopt;
}

/// The description with a host that takes so long to issue a command.
static llvm::Expected<Hardware>
withHost(llvm::StringRef name, llvm::StringRef suffix, double seconds) {
  llvm::Expected<Hardware> found = findHardware(name);
  if (!found)
    return found;
  if (found->isCpu())
    return llvm::createStringError(llvm::formatv(
        "'{0}:{1}': ranks on CPUs issue commands themselves; leave ':{1}' away",
        name, suffix));
  found->issueSeconds = seconds;
  found->name += ":" + suffix.str();
  return found;
}

llvm::Expected<Hardware> tpsp::findHardware(llvm::StringRef text) {
  auto [name, suffix] = text.rsplit(':');
  if (std::optional<double> seconds = hostSecondsOf(suffix))
    return withHost(name, suffix, *seconds);
  for (CollectiveAlgorithm algorithm : pinnable) {
    if (suffix != nameOf(algorithm))
      continue;
    llvm::Expected<Hardware> found = findDescription(name);
    if (!found)
      return found;
    if (llvm::Error error = pin(*found, algorithm))
      return llvm::Expected<Hardware>(std::move(error));
    found->name += ":" + suffix.str();
    return found;
  }
  if (!embeddedHardware(text) && embeddedHardware(name))
    return llvm::createStringError(
        llvm::formatv("'{0}' pins no algorithm of all_reduce: '{1}' is none; "
                      "what can be pinned is {2}; '{3}:host=35us' sets the "
                      "host's time for a command",
                      text, suffix, pinsOf(name), name));
  return findDescription(text);
}

llvm::Expected<const Hardware &> HardwareChoice::read() const {
  if (!*description) {
    llvm::Expected<Hardware> found = findHardware(text);
    if (!found)
      return found.takeError();
    *description = std::make_shared<const Hardware>(std::move(*found));
  }
  return **description;
}

llvm::raw_ostream &tpsp::operator<<(llvm::raw_ostream &out,
                                    const HardwareChoice &choice) {
  return out << choice.name();
}

std::string tpsp::misfitOf(const Hardware &hardware, const Mesh &mesh) {
  int64_t ranks = mesh.numRanks();
  int64_t devices = hardware.devicesPerNode * hardware.nodes;
  if (hardware.isCpu() || ranks <= devices)
    return "";
  return llvm::formatv(
      "{0} has {1} devices ({2} nodes of {3}), and the mesh has {4} ranks; "
      "make "
      "the mesh smaller with --mesh, or describe a machine with more \"nodes\"",
      hardware.name, devices, hardware.nodes, hardware.devicesPerNode, ranks);
}
