#include "ExplicitIndices.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tpsp;

/// Letters for axes whose first letter is taken.
static constexpr llvm::StringLiteral forDevices = "rqpuvwxyzonm";
/// Letters for positions on a device, in the order in which they are used.
static constexpr llvm::StringLiteral forPositions =
    "lmnopqruvwxyzaijfghcekstbd";

ExplicitIndices::ExplicitIndices(const Mesh &mesh, std::set<std::string> taken)
    : mesh(mesh), taken(std::move(taken)) {
  for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
    devices.push_back(
        freeLetter(StringRef(mesh.axis(axis).name).take_front(), forDevices));
}

std::string ExplicitIndices::freeLetter(StringRef wish, StringRef others) {
  if (!wish.empty() && taken.insert(wish.str()).second)
    return wish.str();
  for (char letter : others)
    if (taken.insert(std::string(1, letter)).second)
      return std::string(1, letter);
  unsigned number = 1;
  while (!taken.insert("i" + std::to_string(number)).second)
    ++number;
  return "i" + std::to_string(number);
}

const std::string &ExplicitIndices::localLetter(StringRef index,
                                                ArrayRef<AxisId> axes,
                                                int64_t extent) {
  auto [it, isNew] =
      locals.try_emplace({index.str(), AxisList(axes.begin(), axes.end())}, "");
  if (isNew)
    it->second = freeLetter("", forPositions);
  ranges[it->second] =
      (Twine(extent) + " // " + Twine(mesh.groupSize(axes))).str();
  return it->second;
}

void ExplicitIndices::begin(ArrayRef<RankedTensorType> types) {
  divided.clear();
  dividedBy.clear();
  for (RankedTensorType type : types) {
    Placement placement = placementOf(type, mesh);
    for (auto [name, axes] :
         llvm::zip_equal(indexNames(type), placement.dims)) {
      AxisList &most = divided[name.str()];
      if (axes.size() > most.size())
        most = axes;
    }
  }
  for (RankedTensorType type : types)
    for (StringRef name : indexNames(type))
      for (AxisId axis : divided[name.str()])
        if (!llvm::is_contained(dividedBy[axis], name))
          dividedBy[axis].push_back(name.str());
}

std::string ExplicitIndices::deviceLetter(AxisId axis, StringRef index) {
  const std::vector<std::string> &indices = dividedBy[axis];
  size_t primes = llvm::find(indices, index.str()) - indices.begin();
  return devices[axis] + std::string(primes, '\'');
}

std::vector<ExplicitIndex> ExplicitIndices::of(RankedTensorType type) {
  Placement placement = placementOf(type, mesh);
  std::vector<ExplicitIndex> indices;
  for (AxisId axis : placement.pending)
    indices.push_back({deviceLetter(axis, ""), axis});
  for (auto [name, axes, extent] :
       llvm::zip_equal(indexNames(type), placement.dims, type.getShape())) {
    // The axes, or their order, differ from other tensors of the equation: the
    // index is divided on its own.
    AxisList all = divided[name.str()];
    if (ArrayRef<AxisId>(all).take_front(axes.size()) != ArrayRef<AxisId>(axes))
      all = axes;
    extents[name.str()].insert(extent);
    if (all.empty()) {
      indices.push_back({name.str(), std::nullopt});
      continue;
    }
    for (auto [position, axis] : llvm::enumerate(all)) {
      std::optional<AxisId> sharded;
      if (position < axes.size())
        sharded = axis;
      indices.push_back({deviceLetter(axis, name), sharded});
    }
    indices.push_back({localLetter(name, all, extent), std::nullopt});
  }
  return indices;
}

std::vector<std::string> ExplicitIndices::legend() const {
  std::vector<std::string> lines;
  for (AxisId axis = 0; axis < mesh.numAxes(); ++axis)
    lines.push_back((Twine(devices[axis]) + " in range(" +
                     Twine(mesh.size(axis)) + "): the ranks of " +
                     mesh.axis(axis).name + ", mesh axis " + Twine(axis))
                        .str());
  for (const auto &[name, values] : extents) {
    std::string text = name + " in range(";
    llvm::ListSeparator either(" or ");
    for (int64_t value : values)
      text += (Twine(StringRef(either)) + Twine(value)).str();
    text += ")";
    for (const auto &[index, letter] : locals) {
      if (index.first != name)
        continue;
      text += ", (";
      for (AxisId axis : index.second)
        text += devices[axis] + " ";
      text += letter + ") with " + letter + " in range(" +
              ranges.find(letter)->second + ")";
    }
    lines.push_back(text);
  }
  return lines;
}
