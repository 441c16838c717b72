#include "tpsp/Planner/UsualTerms.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace tpsp;
using namespace tpsp::planner;

bool UsualTerms::isInOrder(llvm::ArrayRef<TermKind> kinds) const {
  const TermKind *next = kinds.begin();
  for (TermKind kind : order) {
    next = std::find(next, kinds.end(), kind);
    if (next == kinds.end())
      return false;
  }
  return true;
}

static bool isMatrix(const TensorFacts &tensor) {
  return tensor.kind == TensorFacts::Kind::Parameter && tensor.isFree &&
         tensor.dims.size() >= 2;
}

namespace {

class ReadTerms {
public:
  ReadTerms(const Candidate &candidate, const ProgramFacts &facts,
            const TermNames &names)
      : candidate(candidate), facts(facts), batch(facts.find(names.batch)),
        sequence(facts.find(names.sequence)) {}

  UsualTerms read() {
    readProgram();
    for (const CandidateAxis &axis : candidate.axes)
      if (axis.size > 1 && !terms.problem)
        read(axis);
    return terms;
  }

private:
  void readProgram() {
    terms.settings = candidate.settings;
    terms.layers = facts.layers;
    terms.batch = batch ? facts.classes[*batch].extent : 1;
    terms.sequence = sequence ? facts.classes[*sequence].extent : 1;
    for (const TensorFacts &tensor : facts.tensors)
      if (tensor.kind == TensorFacts::Kind::Parameter) {
        terms.elementBytes = tensor.elementBytes;
        terms.isTied |= !tensor.lookedUp.empty() && !tensor.contracted.empty();
      }
  }

  void read(const CandidateAxis &axis) {
    if (axis.use.role == AxisRole::Stage)
      set(terms.pipeline, axis, TermKind::Pipeline);
    else if (axis.use.role == AxisRole::Model)
      readModel(axis);
    else
      readData(axis);
  }

  static bool isOn(const CandidateAxis &axis, std::optional<ClassId> index) {
    return index && axis.use.activations == index;
  }

  void refuse(const CandidateAxis &axis, const char *why) {
    terms.problem = why;
    terms.axis = axis.name;
  }

  static const char *secondOf(TermKind kind) {
    switch (kind) {
    case TermKind::Pipeline:
      return "is a second pipeline axis";
    case TermKind::Replicate:
      return "is a second replicate axis";
    case TermKind::Shard:
      return "is a second shard axis";
    case TermKind::Context:
      return "is a second context axis";
    case TermKind::Expert:
      return "is a second expert axis";
    case TermKind::Tensor:
      return "is a second tensor axis";
    }
    return "";
  }

  /// Sets the degree of a kind of axis; refuses a second axis of that kind.
  void set(int64_t &degree, const CandidateAxis &axis, TermKind kind) {
    if (degree != 1)
      return refuse(axis, secondOf(kind));
    degree = axis.size;
    terms.order.push_back(kind);
  }

  void readData(const CandidateAxis &axis) {
    bool isContext = isOn(axis, sequence);
    if (!isContext && !isOn(axis, batch))
      return refuse(axis, "divides neither samples nor positions");
    terms.dividesState |= axis.use.storesState;
    terms.copiesState |= !axis.use.storesState && !axis.use.storesParameters;
    if (!isContext)
      return set(
          axis.use.storesParameters ? terms.shard : terms.replicate, axis,
          axis.use.storesParameters ? TermKind::Shard : TermKind::Replicate);
    terms.contextStores = axis.use.storesParameters;
    terms.exchangesHeads = axis.use.heads.has_value();
    terms.ring = axis.use.ring;
    set(terms.context, axis, TermKind::Context);
  }

  bool isOfExperts(ClassId id) const {
    return facts.classes[id].hasOwnParameters;
  }

  void readModel(const CandidateAxis &axis) {
    if (llvm::any_of(axis.use.parameters,
                     [&](ClassId id) { return isOfExperts(id); }))
      return readExperts(axis);
    if (axis.use.activations && !isOn(axis, sequence))
      return refuse(axis, "divides samples besides parameters");
    if (const char *problem = tensorProblem(axis.use))
      return refuse(axis, problem);
    terms.isSequenceParallel = isOn(axis, sequence);
    terms.keyHeads = keyHeadsOn(axis.use);
    terms.tensorDividesExperts = dividesExperts(axis.use);
    set(terms.tensor, axis, TermKind::Tensor);
  }

  void readExperts(const CandidateAxis &axis) {
    if (!isOn(axis, batch))
      return refuse(axis, "divides experts and no samples");
    terms.expertDividesOthers = llvm::any_of(
        axis.use.parameters, [&](ClassId id) { return !isOfExperts(id); });
    set(terms.expert, axis, TermKind::Expert);
  }

  bool dividesExperts(const AxisUse &use) const {
    return llvm::all_of(facts.tensors, [&](const TensorFacts &tensor) {
      bool isExperts = isMatrix(tensor) && tensor.dims.size() >= 3 &&
                       llvm::any_of(tensor.dims, [&](ClassId id) {
                         return isOfExperts(id);
                       });
      return !isExperts || isDivided(tensor, use);
    });
  }

  static bool isDivided(const TensorFacts &tensor, const AxisUse &use) {
    return llvm::any_of(tensor.dims, [&](ClassId id) {
      return llvm::is_contained(use.parameters, id);
    });
  }

  /// Why the axis is no tensor parallelism as systems have it: columns of one
  /// matrix and rows of the next, and the rows of tables. Null if it is.
  const char *tensorProblem(const AxisUse &use) const {
    if (llvm::any_of(use.parameters, [&](ClassId id) { return isStream(id); }))
      return "divides the features that layers hand on";
    for (const TensorFacts &tensor : facts.tensors)
      if (isMatrix(tensor) && isDivided(tensor, use) && !isByRows(tensor, use))
        return "divides the features of a table";
    for (const TensorFacts &tensor : facts.tensors)
      if (isMatrix(tensor) && !isDivided(tensor, use) && hasHeads(tensor))
        return "leaves the heads of keys whole";
    for (const TensorFacts &tensor : facts.tensors)
      if (isMatrix(tensor) && mightBeDivided(tensor, use))
        return "leaves a matrix whole, because its size does not divide it";
    return nullptr;
  }

  /// The smallest extent of the classes of heads that the axis divides. Keys
  /// have as many heads as queries, or fewer.
  int64_t keyHeadsOn(const AxisUse &use) const {
    int64_t fewest = 0;
    for (ClassId id : facts.headClasses)
      if (int64_t extent = facts.classes[id].extent;
          llvm::is_contained(use.parameters, id) &&
          (fewest == 0 || extent < fewest))
        fewest = extent;
    return fewest;
  }

  bool hasHeads(const TensorFacts &tensor) const {
    return llvm::any_of(tensor.dims, [&](ClassId id) {
      return llvm::is_contained(facts.headClasses, id);
    });
  }

  /// Whether a table is divided along the index that is looked up; other
  /// parameters are no tables.
  static bool isByRows(const TensorFacts &tensor, const AxisUse &use) {
    return tensor.lookedUp.empty() ||
           llvm::any_of(tensor.lookedUp, [&](ClassId id) {
             return llvm::is_contained(use.parameters, id);
           });
  }

  /// Whether layers hand on features along this index: an activation and most
  /// matrices have it.
  bool isStream(ClassId id) const {
    int64_t matrices = 0, have = 0;
    bool isHandedOn = false;
    for (const TensorFacts &tensor : facts.tensors) {
      bool has = llvm::is_contained(tensor.dims, id);
      matrices += isMatrix(tensor) ? tensor.count : 0;
      have += isMatrix(tensor) && has ? tensor.count : 0;
      isHandedOn |= tensor.kind != TensorFacts::Kind::Parameter &&
                    !tensor.holdsIntegers && has;
    }
    return isHandedOn && 2 * have > matrices;
  }

  /// Whether the axis leaves the matrix whole although it divides none of the
  /// parameters that have its index, so that the extent is the reason.
  bool mightBeDivided(const TensorFacts &matrix, const AxisUse &use) const {
    return !isDivided(matrix, use) &&
           llvm::any_of(matrix.dims, [&](ClassId id) {
             return !isStream(id) && !isOfExperts(id) && isFreeFor(id, use);
           });
  }

  /// Whether the axis divides no other index of a parameter that has `id`.
  bool isFreeFor(ClassId id, const AxisUse &use) const {
    return llvm::none_of(facts.tensors, [&](const TensorFacts &tensor) {
      return isMatrix(tensor) && llvm::is_contained(tensor.dims, id) &&
             isDivided(tensor, use);
    });
  }

  const Candidate &candidate;
  const ProgramFacts &facts;
  const std::optional<ClassId> batch, sequence;
  UsualTerms terms;
};

} // namespace

UsualTerms tpsp::planner::usualTerms(const Candidate &candidate,
                                     const ProgramFacts &facts,
                                     const TermNames &names) {
  return ReadTerms(candidate, facts, names).read();
}
