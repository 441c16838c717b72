#include "tpsp/Schedule/Hardware.h"
#include "tpsp/Abi/ElementType.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tpsp;

namespace tpsp {
// Of EmbeddedHardware.cpp.in.
const char *embeddedHardware(llvm::StringRef name);
llvm::ArrayRef<llvm::StringRef> embeddedHardwareNames();
} // namespace tpsp

/// The entry for an element type, or for another of its width.
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
  // A description is some KiB; do not read a disk.
  constexpr uint64_t longest = 16 << 20;
  llvm::sys::fs::file_status file;
  if (!llvm::sys::fs::status(nameOrPath, file) &&
      file.type() == llvm::sys::fs::file_type::regular_file &&
      file.getSize() > longest)
    return llvm::createStringError(
        llvm::formatv("'{0}' is longer than a description of hardware: {1} "
                      "bytes",
                      nameOrPath, file.getSize()));
  auto buffer = llvm::MemoryBuffer::getFile(nameOrPath);
  if (!buffer)
    return llvm::createStringError(llvm::formatv(
        "'{0}' is no built-in hardware ({1}) and cannot be read as a file: {2}",
        nameOrPath, llvm::join(builtinHardware(), ", "),
        buffer.getError().message()));
  return parseHardware((*buffer)->getBuffer(), nameOrPath);
}

/// Leaves kinds that have the algorithm, for any group of a tier, nothing else
/// there. Others keep what they have.
static void pin(Hardware &hardware, CollectiveAlgorithm algorithm) {
  auto isPinned = [&](const CollectiveRates &like) {
    return llvm::any_of(
        hardware.collectives, [&](const CollectiveRates &rates) {
          return rates.kind == like.kind && rates.tier == like.tier &&
                 rates.algorithm == algorithm && !rates.measuredGroupsOnly;
        });
  };
  std::vector<CollectiveRates> left;
  for (const CollectiveRates &rates : hardware.collectives)
    if (rates.algorithm == algorithm || !isPinned(rates))
      left.push_back(rates);
  hardware.collectives = std::move(left);
}

llvm::Expected<Hardware> tpsp::findHardware(llvm::StringRef text) {
  auto [name, suffix] = text.rsplit(':');
  for (CollectiveAlgorithm algorithm :
       {CollectiveAlgorithm::Ring, CollectiveAlgorithm::Tree}) {
    if (suffix != tpsp::name(algorithm))
      continue;
    llvm::Expected<Hardware> found = findDescription(name);
    if (found) {
      pin(*found, algorithm);
      found->name += ":" + suffix.str();
    }
    return found;
  }
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
