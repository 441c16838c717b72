#include "tpsp/Planner/Candidate.h"

#include "tpsp/Abi/FlatCut.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <set>

using namespace tpsp;
using namespace tpsp::planner;

bool AxisUse::isOn(ClassId id) const {
  return activations == id || llvm::is_contained(parameters, id);
}

bool AxisUse::isOpen() const {
  return !activations && parameters.empty() && role != AxisRole::Stage;
}

bool AxisUse::operator==(const AxisUse &other) const {
  return role == other.role && activations == other.activations &&
         parameters == other.parameters &&
         storesParameters == other.storesParameters &&
         storesState == other.storesState && heads == other.heads &&
         ring == other.ring;
}

int64_t Candidate::numRanks() const {
  int64_t ranks = 1;
  for (const CandidateAxis &axis : axes)
    ranks *= axis.size;
  return ranks;
}

int64_t Candidate::numStages() const {
  for (const CandidateAxis &axis : axes)
    if (axis.use.role == AxisRole::Stage)
      return axis.size;
  return 1;
}

namespace {

/// Builds one tensor's subscripts.
class BuildSubscripts {
public:
  BuildSubscripts(const TensorFacts &tensor, const Candidate &candidate)
      : tensor(tensor), candidate(candidate), dims(tensor.dims.size()),
        local(tensor.shape) {}

  void divide(size_t dim, unsigned axis) {
    dims[dim].push_back(axis);
    local[dim] /= std::max<int64_t>(candidate.axes[axis].size, 1);
  }

  /// Divides the first dimension that has one of the classes; false if there is
  /// none.
  bool divideFirst(const std::vector<ClassId> &classes, unsigned axis) {
    for (size_t dim = 0; dim < dims.size(); ++dim)
      if (llvm::is_contained(classes, tensor.dims[dim])) {
        divide(dim, axis);
        return true;
      }
    return false;
  }

  /// Divides the best dimension for storage. If the axis divides none, it cuts
  /// a large tensor as a row of elements, with all axes after it.
  void divideAnywhere(unsigned axis) {
    if (cut)
      return divide(*cut, axis);
    std::optional<size_t> best, any;
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      bool isEven = local[dim] % candidate.axes[axis].size == 0;
      for (std::optional<size_t> *each : {isEven ? &best : nullptr, &any})
        if (each && (!*each || isBetter(dim, **each)))
          *each = dim;
    }
    if (best)
      return divide(*best, axis);
    if (llvm::product_of(tensor.shape) < fewestCutElements)
      return;
    cut = any;
    divide(*cut, axis);
  }

  Subscripts take() { return std::move(dims); }

private:
  bool isBetter(size_t dim, size_t than) const {
    if (dims[dim].empty() != dims[than].empty())
      return !dims[dim].empty();
    return local[dim] > local[than];
  }

  const TensorFacts &tensor;
  const Candidate &candidate;
  Subscripts dims;
  std::vector<int64_t> local;
  /// The dimension whose axes cut the tensor as a row of elements.
  std::optional<size_t> cut;
};

} // namespace

/// Whether an axis that divides activations leaves the tensor whole. Integers
/// look up rows of parameters: if these are divided, each rank needs all
/// integers. An operation that needs a part of them slices it for free.
static bool isWhole(const TensorFacts &tensor, const AxisUse &use) {
  return tensor.kind == TensorFacts::Kind::Input && tensor.holdsIntegers &&
         use.role == AxisRole::Model;
}

Subscripts tpsp::planner::subscriptsOf(const TensorFacts &tensor,
                                       const Candidate &candidate) {
  BuildSubscripts result(tensor, candidate);
  for (unsigned i = 0; i < candidate.axes.size(); ++i) {
    const AxisUse &use = candidate.axes[i].use;
    if (tensor.kind == TensorFacts::Kind::Parameter)
      result.divideFirst(use.parameters, i);
    else if (use.activations && !isWhole(tensor, use))
      result.divideFirst({*use.activations}, i);
  }
  if (tensor.kind == TensorFacts::Kind::Parameter && tensor.dims.size() >= 2)
    for (unsigned i = 0; i < candidate.axes.size(); ++i)
      if (candidate.axes[i].use.storesParameters)
        result.divideAnywhere(i);
  return result.take();
}

Subscripts tpsp::planner::attentionSubscripts(const TensorFacts &tensor,
                                              const Candidate &candidate) {
  BuildSubscripts result(tensor, candidate);
  auto divide = [&](unsigned i, const AxisUse &use) {
    if (use.heads)
      result.divideFirst({*use.heads}, i);
    else if (!result.divideFirst(use.parameters, i) && use.activations)
      result.divideFirst({*use.activations}, i);
  };
  // Heads of a model axis are divided further by a data axis, which only
  // exchanges what a rank of the model axis has.
  for (bool isModel : {true, false})
    for (unsigned i = 0; i < candidate.axes.size(); ++i)
      if ((candidate.axes[i].use.role == AxisRole::Model) == isModel)
        divide(i, candidate.axes[i].use);
  return result.take();
}

bool tpsp::planner::placesAttention(const Candidate &candidate) {
  return llvm::any_of(candidate.axes, [](const CandidateAxis &axis) {
    return axis.use.heads.has_value();
  });
}

bool tpsp::planner::hasRing(const Candidate &candidate) {
  return llvm::any_of(candidate.axes,
                      [](const CandidateAxis &axis) { return axis.use.ring; });
}

//===----------------------------------------------------------------------===//
// Usual names
//===----------------------------------------------------------------------===//

namespace {

/// The traits that tell the usual kinds of axes apart.
struct UseTraits {
  AxisRole role;
  bool dividesActivations, isMixed, storesParameters, storesState, hasExperts,
      dividesHeads, ring;
};

struct UsualName {
  bool (*fits)(const UseTraits &);
  const char *name, *axis;
};

/// The first matching row names an axis. The search does not use these names.
constexpr UsualName usualNames[] = {
    {[](const UseTraits &t) { return t.role == AxisRole::Stage; }, "PP", "pp"},
    {[](const UseTraits &t) { return t.hasExperts; }, "EP", "ep"},
    {[](const UseTraits &t) {
       return t.role == AxisRole::Model && t.dividesActivations;
     },
     "TP+SP", "tp"},
    {[](const UseTraits &t) { return t.role == AxisRole::Model; }, "TP", "tp"},
    {[](const UseTraits &t) { return t.dividesHeads && t.storesParameters; },
     "Ulysses+FSDP", "cp"},
    {[](const UseTraits &t) { return t.dividesHeads && t.storesState; },
     "Ulysses+ZeRO-1", "cp"},
    {[](const UseTraits &t) { return t.dividesHeads; }, "Ulysses", "cp"},
    {[](const UseTraits &t) { return t.ring && t.storesParameters; },
     "Ring+FSDP", "cp"},
    {[](const UseTraits &t) { return t.ring && t.storesState; }, "Ring+ZeRO-1",
     "cp"},
    {[](const UseTraits &t) { return t.ring; }, "Ring", "cp"},
    {[](const UseTraits &t) { return t.isMixed && t.storesParameters; },
     "CP+FSDP", "cp"},
    {[](const UseTraits &t) { return t.isMixed && t.storesState; }, "CP+ZeRO-1",
     "cp"},
    {[](const UseTraits &t) { return t.isMixed; }, "CP", "cp"},
    {[](const UseTraits &t) { return t.storesParameters; }, "FSDP", "fsdp"},
    {[](const UseTraits &t) { return t.storesState; }, "ZeRO-1", "dp"},
    {[](const UseTraits &t) { return t.dividesActivations; }, "DP", "dp"},
    {[](const UseTraits &) { return true; }, "copies", "copies"},
};

const UsualName &usualNameOf(const AxisUse &use, const ProgramFacts &facts) {
  UseTraits traits = {use.role,
                      use.activations.has_value(),
                      use.activations &&
                          facts.classes[*use.activations].isMixed,
                      use.storesParameters,
                      use.storesState,
                      false,
                      use.heads.has_value(),
                      use.ring};
  for (ClassId id : use.parameters)
    traits.hasExperts |= facts.classes[id].hasOwnParameters;
  return *llvm::find_if(usualNames,
                        [&](const UsualName &row) { return row.fits(traits); });
}

} // namespace

bool tpsp::planner::isSummedOn(const TensorFacts &parameter,
                               const AxisUse &axis) {
  return parameter.isTrained && parameter.isFree && axis.activations &&
         llvm::is_contained(parameter.summed, *axis.activations);
}

void tpsp::planner::nameAxes(Candidate &candidate, const ProgramFacts &facts) {
  std::set<std::string> taken;
  for (const CandidateAxis &axis : candidate.axes)
    taken.insert(axis.name);
  for (CandidateAxis &axis : candidate.axes) {
    if (!axis.name.empty())
      continue;
    std::string base = usualNameOf(axis.use, facts).axis;
    std::string name = base;
    for (int number = 2; !taken.insert(name).second; ++number)
      name = base + std::to_string(number);
    axis.name = name;
  }
}

/// " b@dp", or "" without axes.
static std::string subscript(const std::string &index,
                             const std::string &axes) {
  return axes.empty() ? "" : " " + index + axes;
}

static std::string
classSubscripts(const Candidate &candidate, const ProgramFacts &facts,
                bool (*divides)(const AxisUse &use, ClassId id)) {
  std::string text;
  for (ClassId id = 0; id < facts.classes.size(); ++id) {
    std::string axes;
    for (const CandidateAxis &axis : candidate.axes)
      if (divides(axis.use, id))
        axes += "@" + axis.name;
    text += subscript(facts.classes[id].name(), axes);
  }
  return text;
}

std::string tpsp::planner::subscriptText(const Candidate &candidate,
                                         const ProgramFacts &facts) {
  std::string mesh, layers, ring, stored, state;
  for (const CandidateAxis &axis : candidate.axes) {
    mesh +=
        (mesh.empty() ? "" : " ") + axis.name + "=" + std::to_string(axis.size);
    if (axis.use.ring)
      ring += "@" + axis.name;
    if (axis.use.storesParameters)
      stored += "@" + axis.name;
    if (axis.use.storesState)
      state += "@" + axis.name;
    if (axis.use.role == AxisRole::Stage)
      layers += "@" + axis.name;
  }
  std::string activations =
      classSubscripts(candidate, facts, [](const AxisUse &use, ClassId id) {
        return use.activations == id;
      });
  std::string parameters =
      classSubscripts(candidate, facts, [](const AxisUse &use, ClassId id) {
        return llvm::is_contained(use.parameters, id);
      });
  std::string heads =
      classSubscripts(candidate, facts, [](const AxisUse &use, ClassId id) {
        return use.heads == id;
      });
  if (mesh.empty())
    return "";
  std::string rest = activations;
  for (auto [what, part] :
       {std::pair("attention", heads), std::pair("ring", subscript("", ring)),
        std::pair("parameters", parameters),
        std::pair("stored", subscript("", stored)),
        std::pair("state", subscript("", state)),
        std::pair("layers", subscript("", layers))})
    if (!part.empty())
      rest += std::string(rest.empty() ? " " : ", ") + what + part;
  return rest.empty() ? mesh : mesh + ":" + rest;
}

std::string tpsp::planner::usualName(const Candidate &candidate,
                                     const ProgramFacts &facts) {
  std::string text;
  for (const CandidateAxis &axis : candidate.axes)
    if (axis.size > 1)
      text += (text.empty() ? "" : " x ") +
              std::string(usualNameOf(axis.use, facts).name) + " " +
              std::to_string(axis.size);
  return text.empty() ? "one device" : text;
}

std::string tpsp::planner::settingsText(const Settings &settings) {
  std::string text;
  if (settings.microBatches > 1)
    text = std::to_string(settings.microBatches) + " micro-batches";
  if (!settings.schedule.empty())
    text += (text.empty() ? "" : ", ") + settings.schedule;
  if (settings.chunks > 1)
    text += " of " + std::to_string(settings.chunks) + " chunks";
  Rematerialisation redone = Rematerialisation::of(settings);
  if (redone.mode != "none")
    text += (text.empty() ? "" : ", ") + ("rematerialise " + redone.mode);
  if (redone.layers > 0)
    text += " in " + std::to_string(redone.layers) +
            (redone.layers == 1 ? " layer" : " layers");
  return text;
}

Rematerialisation Rematerialisation::of(const Settings &settings) {
  return named(settings.rematerialize);
}

Rematerialisation Rematerialisation::named(const std::string &text) {
  auto [mode, layers] = llvm::StringRef(text).split(':');
  Rematerialisation result{mode.str()};
  layers.getAsInteger(10, result.layers);
  return result;
}

std::string Rematerialisation::text() const {
  return layers > 0 ? mode + ":" + std::to_string(layers) : mode;
}
