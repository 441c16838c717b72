#include "tpsp/Planner/Space.h"

#include "DevicesText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <set>
#include <tuple>

using namespace tpsp;
using namespace tpsp::planner;

Space::Space(ProgramFacts program, SpaceOptions given)
    : facts(std::move(program)), options(std::move(given)) {}

static int64_t writtenRanks(const ProgramFacts &facts) {
  int64_t ranks = 1;
  for (const WrittenAxis &axis : facts.mesh)
    ranks *= axis.size;
  return ranks;
}

//===----------------------------------------------------------------------===//
// Uses of one axis
//===----------------------------------------------------------------------===//

/// The classes of each free parameter.
static std::vector<std::vector<ClassId>>
parameterClasses(const ProgramFacts &facts) {
  std::vector<std::vector<ClassId>> result;
  for (const TensorFacts &tensor : facts.tensors)
    if (tensor.kind == TensorFacts::Kind::Parameter && tensor.isFree)
      result.push_back(tensor.dims);
  llvm::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

static bool haveOneTensor(const std::vector<std::vector<ClassId>> &tensors,
                          ClassId a, ClassId b) {
  return llvm::any_of(tensors, [&](const std::vector<ClassId> &dims) {
    return llvm::is_contained(dims, a) && llvm::is_contained(dims, b);
  });
}

/// Adds all maximal sets that contain `chosen` and further classes from `next`
/// on. (Maximal independent sets; classes are few.)
static void addLargestSets(const std::vector<ClassId> &classes,
                           llvm::function_ref<bool(ClassId, ClassId)> exclude,
                           size_t next, std::vector<ClassId> &chosen,
                           std::vector<std::vector<ClassId>> &out) {
  auto isFreeOf = [&](ClassId id) {
    return llvm::none_of(chosen,
                         [&](ClassId other) { return exclude(id, other); });
  };
  if (next == classes.size()) {
    bool isLargest = llvm::none_of(classes, [&](ClassId id) {
      return !llvm::is_contained(chosen, id) && isFreeOf(id);
    });
    if (isLargest && !chosen.empty())
      out.push_back(chosen);
    return;
  }
  if (isFreeOf(classes[next])) {
    chosen.push_back(classes[next]);
    addLargestSets(classes, exclude, next + 1, chosen, out);
    chosen.pop_back();
  }
  addLargestSets(classes, exclude, next + 1, chosen, out);
}

std::vector<std::vector<ClassId>>
Space::parameterSets(int64_t size, bool onlyDivisible) const {
  std::vector<std::vector<ClassId>> tensors = parameterClasses(facts);
  std::vector<ClassId> classes;
  for (ClassId id = 0; id < facts.classes.size(); ++id) {
    bool isUsed = llvm::any_of(tensors, [&](const auto &dims) {
      return dims.size() >= 2 && llvm::is_contained(dims, id);
    });
    if (isUsed && !facts.classes[id].isMixed &&
        (!onlyDivisible || facts.classes[id].extent % size == 0))
      classes.push_back(id);
  }
  std::vector<std::vector<ClassId>> result;
  std::vector<ClassId> chosen;
  addLargestSets(
      classes,
      [&](ClassId a, ClassId b) { return haveOneTensor(tensors, a, b); }, 0,
      chosen, result);
  addExpertsAlone(classes, result);
  return result;
}

/// Other systems divide experts and nothing else. Without a target this set is
/// left out, as every set that is not maximal.
void Space::addExpertsAlone(const std::vector<ClassId> &classes,
                            std::vector<std::vector<ClassId>> &sets) const {
  if (!options.reader.target)
    return;
  for (ClassId id : classes)
    if (facts.classes[id].hasOwnParameters &&
        !llvm::is_contained(sets, std::vector<ClassId>{id}))
      sets.push_back({id});
}

std::vector<AxisUse> Space::usesOf(int64_t size, bool onlyDivisible) const {
  std::vector<std::optional<ClassId>> activations;
  for (ClassId id : facts.activationClasses)
    if (!onlyDivisible || facts.classes[id].extent % size == 0)
      activations.push_back(id);
  std::vector<AxisUse> result;
  bool hasParameters = !parameterClasses(facts).empty();
  for (std::optional<ClassId> id : activations)
    for (AxisUse use : dataUses(*id, size, onlyDivisible)) {
      result.push_back(use);
      use.storesParameters = true;
      if (hasParameters)
        result.push_back(use);
      use.storesParameters = false;
      use.storesState = true;
      if (options.hasState)
        result.push_back(use);
    }
  activations.push_back(std::nullopt);
  for (const std::vector<ClassId> &set : parameterSets(size, onlyDivisible))
    for (std::optional<ClassId> id : activations)
      if (!id || !llvm::is_contained(set, *id))
        result.push_back({AxisRole::Model, id, set, false, false});
  if (mayHaveStages(size))
    result.push_back({AxisRole::Stage, std::nullopt, {}, false, false});
  return result;
}

std::vector<AxisUse> Space::dataUses(ClassId activations, int64_t size,
                                     bool onlyDivisible) const {
  AxisUse use = {AxisRole::Data, activations, {}, false, false};
  AxisUse ring = use;
  ring.ring = true;
  bool rings = mayRing(activations, size);
  std::vector<AxisUse> result;
  if (options.mayGather || !rings)
    result.push_back(use);
  if (rings)
    result.push_back(ring);
  if (facts.classes[activations].isMixed)
    for (ClassId id : facts.headClasses)
      if (!onlyDivisible || facts.classes[id].extent % size == 0) {
        use.heads = id;
        result.push_back(use);
      }
  return result;
}

bool Space::mayRing(ClassId activations, int64_t size) const {
  const IndexClass &index = facts.classes[activations];
  return options.mayRing && index.mayRing &&
         index.extent % (index.ringHasHalves ? 2 * size : size) == 0;
}

bool Space::mayHaveStages(int64_t size) const {
  return size > 1 && size <= facts.layers &&
         (options.stages == 0 || options.stages == size);
}

//===----------------------------------------------------------------------===//
// The tree
//===----------------------------------------------------------------------===//

/// The order of uses. It decides which of two axes in a node comes first.
static auto orderOf(const AxisUse &use) {
  return std::tuple(use.role != AxisRole::Stage, use.role, use.activations,
                    use.parameters, use.storesParameters, use.storesState,
                    use.heads, use.ring);
}

/// Whether the axis and those within it are in one node.
static bool isInNode(const SpaceNode &parent, const SpaceOptions &options) {
  return options.devicesPerNode == 0 ||
         parent.remaining <= options.devicesPerNode;
}

bool Space::divides(const Candidate &candidate) const {
  for (ClassId id = 0; id < facts.classes.size(); ++id) {
    int64_t ofActivations = 1, ofParameters = 1, ofHeads = 1, ofRing = 1;
    for (const CandidateAxis &axis : candidate.axes) {
      if (axis.use.activations == id)
        ofActivations *= axis.size;
      if (llvm::is_contained(axis.use.parameters, id))
        ofParameters *= axis.size;
      if (axis.use.heads == id)
        ofHeads *= axis.size;
      if (axis.use.activations == id && axis.use.ring)
        ofRing *= axis.size;
    }
    // Axes on heads divide what axes on parameters leave of them.
    if (facts.classes[id].extent % ofActivations != 0 ||
        facts.classes[id].extent % (ofParameters * ofHeads) != 0 ||
        (ofRing > 1 && !mayRing(id, ofRing)))
      return false;
  }
  return true;
}

/// Whether the node with this axis equals another node. Two axes of one use are
/// merged into one. Axes within a node, and axes that only lead from node to
/// node, have a fixed order, because their links are alike. Axes of the
/// program's own mesh are exempt. `within`: the devices over which the axis's
/// steps lead.
bool Space::isAnothers(const SpaceNode &node, const AxisUse &use,
                       int64_t within) const {
  const std::vector<CandidateAxis> &axes = node.candidate.axes;
  if (use.role == AxisRole::Stage && node.candidate.hasStages())
    return true;
  for (size_t i = facts.mesh.size(); i < axes.size(); ++i)
    if (axes[i].use == use)
      return true;
  if (axes.size() <= facts.mesh.size())
    return false;
  SpaceNode parent = {{}, node.remaining * axes.back().size};
  bool leavesNodes =
      options.devicesPerNode > 0 && within % options.devicesPerNode == 0;
  return (isInNode(parent, options) || leavesNodes) &&
         orderOf(use) < orderOf(axes.back().use);
}

/// Whether attention's keys would be gathered along one axis and go around a
/// ring along another.
static bool gathersBesidesRing(const Candidate &candidate, const AxisUse &use) {
  return llvm::any_of(candidate.axes, [&](const CandidateAxis &axis) {
    return axis.use.role == AxisRole::Data && use.role == AxisRole::Data &&
           axis.use.activations == use.activations && !axis.use.heads &&
           !use.heads && axis.use.ring != use.ring;
  });
}

SpaceNode Space::root() const { return {Candidate(), options.devices}; }

void Space::addChildren(const SpaceNode &node, CandidateAxis axis,
                        std::vector<SpaceNode> &out, int64_t &symmetric) const {
  SpaceNode child = node;
  child.remaining /= axis.size;
  bool isWritten = node.candidate.axes.size() < facts.mesh.size();
  child.candidate.axes.push_back(std::move(axis));
  std::vector<AxisUse> uses = usesOf(child.candidate.axes.back().size, true);
  if (isWritten) {
    llvm::erase_if(
        uses, [](const AxisUse &use) { return use.role == AxisRole::Stage; });
    uses.emplace_back();
    uses.back().role = child.candidate.axes.back().use.role;
  }
  for (const AxisUse &use : uses) {
    if (isWritten && use.role != child.candidate.axes.back().use.role)
      continue;
    if (gathersBesidesRing(node.candidate, use))
      continue;
    if (!isWritten && isAnothers(node, use, child.remaining)) {
      ++symmetric;
      continue;
    }
    child.candidate.axes.back().use = use;
    if (divides(child.candidate) && maySatisfyPins(child) &&
        options.reader.mayTake(child.candidate, facts))
      out.push_back(child);
  }
}

static CandidateAxis axisOf(std::string name, int64_t size, AxisRole role) {
  CandidateAxis axis;
  axis.name = std::move(name);
  axis.size = size;
  axis.use.role = role;
  return axis;
}

std::vector<SpaceNode> Space::children(const SpaceNode &node,
                                       int64_t &symmetric) const {
  std::vector<SpaceNode> result;
  size_t depth = node.candidate.axes.size();
  if (depth < facts.mesh.size()) {
    const WrittenAxis &written = facts.mesh[depth];
    for (AxisRole role : {AxisRole::Data, AxisRole::Model, AxisRole::Stage})
      if (written.role == role ||
          (written.role == AxisRole::None && role != AxisRole::Stage))
        addChildren(node, axisOf(written.name, written.size, role), result,
                    symmetric);
    return result;
  }
  bool isLast = depth + 1 >= mostAxes();
  for (int64_t size = isLast ? node.remaining : 2; size <= node.remaining;
       ++size)
    if (node.remaining % size == 0)
      addChildren(node, axisOf("", size, AxisRole::Data), result, symmetric);
  return result;
}

size_t Space::mostAxes() const {
  return std::max<size_t>(options.maxAxes, facts.mesh.size() + 1);
}

bool Space::isDone(const SpaceNode &node) const {
  return node.isLeaf() && node.candidate.axes.size() >= facts.mesh.size();
}

std::vector<Candidate> Space::leaves(size_t most) const {
  std::vector<Candidate> result;
  std::vector<SpaceNode> open = {root()};
  int64_t symmetric = 0;
  while (!open.empty() && result.size() < most) {
    SpaceNode node = std::move(open.back());
    open.pop_back();
    if (isDone(node)) {
      if (satisfiesPins(node.candidate))
        result.push_back(node.candidate);
      continue;
    }
    for (SpaceNode &child : children(node, symmetric))
      open.push_back(std::move(child));
  }
  return result;
}

std::vector<Candidate> Space::pure() const {
  std::vector<Candidate> result;
  if (!facts.mesh.empty() || !options.pins.empty() || options.stages > 1 ||
      options.devices < 2)
    return result;
  for (const AxisUse &use : usesOf(options.devices, /*onlyDivisible=*/false)) {
    Candidate candidate;
    candidate.axes.push_back({"", options.devices, use});
    nameAxes(candidate, facts);
    if (options.reader.takesAxes(candidate, facts))
      result.push_back(std::move(candidate));
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Pins
//===----------------------------------------------------------------------===//

/// Whether the axis satisfies all pins for the axis `name`.
static bool fitsPins(const CandidateAxis &axis, const std::string &name,
                     const std::vector<Pin> &pins) {
  return llvm::all_of(pins, [&](const Pin &pin) {
    return pin.axis != name ||
           ((pin.size == 0 || pin.size == axis.size) &&
            (axis.use.isOn(pin.index) || axis.use.heads == pin.index));
  });
}

/// Gives axes the names of the pins that they satisfy. `missing` receives the
/// names of pins without an axis. False if an axis with a pin's name does not
/// satisfy it.
static bool namePinned(Candidate &candidate, const std::vector<Pin> &pins,
                       std::set<std::string> &missing) {
  for (const Pin &pin : pins) {
    auto found = llvm::find_if(candidate.axes, [&](const CandidateAxis &axis) {
      return axis.name == pin.axis;
    });
    if (found == candidate.axes.end())
      found = llvm::find_if(candidate.axes, [&](const CandidateAxis &axis) {
        return axis.name.empty() && fitsPins(axis, pin.axis, pins);
      });
    if (found == candidate.axes.end()) {
      missing.insert(pin.axis);
      continue;
    }
    if (!fitsPins(*found, pin.axis, pins))
      return false;
    found->name = pin.axis;
  }
  return true;
}

bool Space::satisfiesPins(Candidate &candidate) const {
  std::set<std::string> missing;
  if ((options.stages > 1 && candidate.numStages() != options.stages) ||
      !namePinned(candidate, options.pins, missing) || !missing.empty() ||
      !options.reader.takesAxes(candidate, facts))
    return false;
  nameAxes(candidate, facts);
  return true;
}

/// Whether the axes that the node still lacks may satisfy the pins.
bool Space::maySatisfyPins(const SpaceNode &node) const {
  Candidate candidate = node.candidate;
  std::set<std::string> missing;
  if (!namePinned(candidate, options.pins, missing))
    return false;
  size_t wanted = missing.size();
  if (options.stages > 1 && candidate.numStages() != options.stages) {
    if (candidate.hasStages())
      return false;
    ++wanted;
  }
  return wanted == 0 ||
         (!isDone(node) && candidate.axes.size() + wanted <= mostAxes());
}

std::string Space::checkStages() const {
  for (const WrittenAxis &axis : facts.mesh)
    if (axis.role == AxisRole::Stage && options.stages != 0 &&
        options.stages != axis.size)
      return "the program's mesh has " + std::to_string(axis.size) +
             " stages, and --stages says " + std::to_string(options.stages) +
             "; leave out the option, or the mesh";
  if (options.stages <= 1)
    return "";
  if (options.stages > facts.layers)
    return "--stages " + std::to_string(options.stages) +
           " are more than the program's layers (calls of functions), of "
           "which it has " +
           std::to_string(facts.layers) + "; give at most as many";
  if (options.devices % options.stages != 0)
    return "--stages " + std::to_string(options.stages) + " does not divide " +
           std::to_string(options.devices) + " devices";
  return "";
}

/// Why the target takes no candidate, if there are any: the reason of one of
/// them.
std::string Space::noneIsTaken() const {
  if (!options.reader.target)
    return "";
  SpaceOptions others = options;
  others.reader.target = nullptr;
  std::vector<Candidate> refused = Space(facts, others).leaves(/*most=*/1);
  if (refused.empty())
    return "";
  const Target &target = *options.reader.target;
  return std::string(target.title) + " can express no plan on " +
         devicesText(options.devices) + "; " +
         usualName(refused.front(), facts) + ", for instance: " +
         whyNot(target, refused.front(), facts, options.reader.names);
}

std::string Space::check() const {
  int64_t written = writtenRanks(facts);
  if (options.devices % written != 0)
    return "the program's mesh has " + std::to_string(written) +
           " ranks, which do not divide " + std::to_string(options.devices) +
           " devices; --devices takes a multiple, or leave out the mesh";
  for (const std::string &problem : {checkPins(), checkStages()})
    if (!problem.empty())
      return problem;
  if (!leaves(/*most=*/1).empty())
    return "";
  if (std::string problem = noneIsTaken(); !problem.empty())
    return problem;
  SpaceOptions unpinned = options;
  unpinned.pins.clear();
  if (!options.pins.empty() && !Space(facts, unpinned).leaves(1).empty())
    return "no mesh of " + std::to_string(options.devices) +
           " devices has all that is pinned: an axis divides one class of "
           "activations, no parameter twice, and the extents of both; leave "
           "out a pin, or give one an axis of another name";
  std::vector<std::string> extents;
  for (const IndexClass &index : facts.classes)
    extents.push_back(index.nameOfExtent() + " = " +
                      std::to_string(index.extent));
  return "no mesh of " + std::to_string(options.devices) +
         " devices divides the program's indices (" +
         llvm::join(extents, ", ") +
         "); give other --devices, or other extents (--extent, --pad)";
}
