/// A plan in the words of other systems: degrees of data, tensor, context,
/// expert and pipeline parallelism, in the order of the mesh. Rules about what
/// a system can express are written in these terms (Target.h).
#ifndef TPSP_PLANNER_USUALTERMS_H
#define TPSP_PLANNER_USUALTERMS_H

#include "tpsp/Planner/Candidate.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace tpsp::planner {

/// The names of the indices that other systems have words for.
struct TermNames {
  std::string batch = "b", sequence = "s";
};

/// The kinds of axes. A data axis copies the parameters (Replicate) or divides
/// the stored ones (Shard).
enum class TermKind { Pipeline, Replicate, Shard, Context, Expert, Tensor };

struct UsualTerms {
  int64_t tensor = 1, context = 1, expert = 1, replicate = 1, shard = 1,
          pipeline = 1;
  /// isSequenceParallel: the tensor axis divides activations, too.
  /// exchangesHeads: the context axis divides heads within attention.
  /// ring: keys go around a ring of the context axis.
  bool isSequenceParallel = false, exchangesHeads = false, ring = false;
  /// Whether some axis on samples or positions divides the optimizer's state
  /// and not the parameters, and whether some such axis divides neither.
  bool dividesState = false, copiesState = false;
  /// Whether the context axis divides the stored parameters.
  bool contextStores = false;
  /// Whether the expert axis divides parameters that are not experts', and
  /// whether the tensor axis divides experts.
  bool expertDividesOthers = false, tensorDividesExperts = false;
  /// The heads of keys that the tensor axis divides; 0 if it divides none.
  int64_t keyHeads = 0;
  /// The kinds of axes, from the outermost to the innermost.
  llvm::SmallVector<TermKind, 4> order;
  /// Why an axis has no usual word, and the axis; null if all have one.
  const char *problem = nullptr;
  std::string axis;

  Settings settings;
  /// The program's layers, the extents of its batch and sequence, and the bytes
  /// of a parameter's element.
  int64_t layers = 0, batch = 1, sequence = 1, elementBytes = 4;
  /// Whether a parameter is both a table and the factor of a product.
  bool isTied = false;

  /// The number of parts of the batch. Ranks of different experts have samples
  /// of their own.
  int64_t data() const { return replicate * shard * expert; }
  /// Whether each tensor rank has equally many heads of keys, at least one.
  bool dividesKeyHeads() const { return keyHeads % tensor == 0; }
  /// Chunks of all stages.
  int64_t chunks() const { return pipeline * settings.chunks; }
  /// Samples of one rank in one micro-batch; at least 1.
  int64_t localBatch() const {
    return std::max<int64_t>(batch / data() / settings.microBatches, 1);
  }
  /// Whether the axes come in this order, outermost first. Absent kinds do not
  /// count.
  bool isInOrder(llvm::ArrayRef<TermKind> kinds) const;
};

/// The candidate in usual terms. It may have the outer axes only; `problem` and
/// all flags then hold for every candidate with these outer axes.
UsualTerms usualTerms(const Candidate &candidate, const ProgramFacts &facts,
                      const TermNames &names);

} // namespace tpsp::planner

#endif // TPSP_PLANNER_USUALTERMS_H
