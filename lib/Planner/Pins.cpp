// Checks pins against the program and the devices.
#include "tpsp/Planner/Space.h"

#include "tpsp/Algebra/PaddedExtent.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

using namespace tpsp;
using namespace tpsp::planner;

/// Whether the notation can read `name` as an axis's name.
static bool isAxisName(llvm::StringRef name) {
  return (llvm::isAlpha(name.front()) || name.front() == '_') &&
         llvm::all_of(name, [](char c) {
           return llvm::isAlnum(c) || c == '_' || c == '.' || c == '$';
         });
}

/// "'b@1' calls ..., as in b@dp".
static std::string noAxisName(llvm::StringRef text, llvm::StringRef index,
                              llvm::StringRef name) {
  return "'" + text.str() + "' calls an axis '" + name.str() +
         "', which no program can; an axis is called by a letter or _, and "
         "letters, digits, _, . and $ behind it, as in " +
         index.str() + "@dp";
}

static std::string noIndex(llvm::StringRef text, llvm::StringRef index,
                           const ProgramFacts &facts) {
  std::vector<std::string> known;
  for (const IndexClass &each : facts.classes)
    known.insert(known.end(), each.names.begin(), each.names.end());
  return "'" + text.str() + "' pins index '" + index.str() +
         "', which the program does not have; it has " +
         llvm::join(known, ", ");
}

std::string tpsp::planner::parsePin(const std::string &text,
                                    const ProgramFacts &facts, Pin &pin) {
  auto [index, axis] = llvm::StringRef(text).split('@');
  auto [name, size] = axis.split('=');
  if (index.empty() || name.empty() || name.contains('@'))
    return "'" + text + "' is no pin; expected index@axis, or index@axis=size";
  std::optional<ClassId> id = facts.find(index.str());
  if (!id)
    return noIndex(text, index, facts);
  if (!isAxisName(name))
    return noAxisName(text, index, name);
  pin = {*id, name.str()};
  if (axis.contains('=') && (size.getAsInteger(10, pin.size) || pin.size < 1))
    return "'" + text + "' gives @" + pin.axis + " the size '" + size.str() +
           "'; sizes are at least 1";
  return "";
}

/// The product of the pinned axes' sizes; each axis counts once.
static int64_t pinnedRanks(const std::vector<Pin> &pins) {
  std::map<std::string, int64_t> sizes;
  for (const Pin &pin : pins)
    sizes[pin.axis] = std::max<int64_t>({sizes[pin.axis], pin.size, 1});
  int64_t ranks = 1;
  for (const auto &[axis, size] : sizes)
    ranks *= size;
  return ranks;
}

static bool isOfParameters(ClassId id, const ProgramFacts &facts) {
  return llvm::any_of(facts.tensors, [&](const TensorFacts &tensor) {
    return tensor.kind == TensorFacts::Kind::Parameter &&
           llvm::is_contained(tensor.dims, id);
  });
}

/// A way out if the axis's size does not divide the extent: "4 does, or --pad
/// v=8 does". A batch or a sequence is not padded but given another extent,
/// because its additional positions hold real data.
static std::string waysToDivide(const Pin &pin, const ProgramFacts &facts,
                                int64_t devices) {
  const IndexClass &index = facts.classes[pin.index];
  bool pads = isOfParameters(pin.index, facts) &&
              isWorthPadding(index.extent, pin.size);
  int64_t size = std::gcd(index.extent, devices);
  std::string smaller = size > 1 ? std::to_string(size) + " does, or " : "";
  int64_t other = pads ? pin.size : paddedExtent(index.extent, pin.size);
  return smaller + (pads ? "--pad " : "--extent ") + index.nameOfExtent() +
         "=" + std::to_string(other) + " does";
}

/// Says what is wrong with one pin by itself; empty if nothing is.
static std::string problemOf(const Pin &pin, const ProgramFacts &facts,
                             int64_t devices) {
  const IndexClass &index = facts.classes[pin.index];
  std::string what = "the pin " + index.name() + "@" + pin.axis + "=" +
                     std::to_string(pin.size) + " does not divide ";
  if (pin.size > 0 && devices % pin.size != 0)
    return what + std::to_string(devices) + " devices";
  if (pin.size > 0 && index.extent % pin.size != 0)
    return what + "extent " + std::to_string(index.extent) + " of '" +
           index.nameOfExtent() + "'; " + waysToDivide(pin, facts, devices);
  return "";
}

/// The problem if pins give one axis two sizes; empty if they do not.
static std::string twoSizes(const std::vector<Pin> &pins) {
  for (const Pin &pin : pins)
    for (const Pin &other : pins)
      if (other.axis == pin.axis && pin.size > 0 && other.size > 0 &&
          other.size != pin.size)
        return "pins give @" + pin.axis + " two sizes, " +
               std::to_string(pin.size) + " and " + std::to_string(other.size);
  return "";
}

std::string Space::checkPins() const {
  std::set<std::string> axes;
  for (const Pin &pin : options.pins)
    axes.insert(pin.axis);
  if (axes.size() > mostAxes())
    return "pins name " + std::to_string(axes.size()) +
           " axes, and a mesh has at most " + std::to_string(options.maxAxes) +
           "; --max-axes allows more";
  for (const Pin &pin : options.pins)
    if (std::string problem = problemOf(pin, facts, options.devices);
        !problem.empty())
      return problem;
  if (std::string problem = twoSizes(options.pins); !problem.empty())
    return problem;
  if (int64_t ranks = pinnedRanks(options.pins); options.devices % ranks != 0)
    return "the pinned axes have " + std::to_string(ranks) +
           " ranks together, which do not divide " +
           std::to_string(options.devices) + " devices";
  return "";
}
