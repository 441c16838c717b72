/// The results of a step that fit in a line: scalars, and the cotangents of its
/// backward pass.
#ifndef TPSP_RUNTIME_DRIVER_REPORT_STEPRESULTS_H
#define TPSP_RUNTIME_DRIVER_REPORT_STEPRESULTS_H

#include "tpsp/Runtime/Driver/Tensors/Shard.h"
#include "tpsp/Runtime/Driver/Tensors/TensorSource.h"
#include "tpsp/Runtime/World.h"

namespace tpsp::rt {

struct StepResults {
  struct Scalar {
    std::string name;
    double value = 0;
  };
  struct Cotangent {
    std::string name;
    /// "1", "random" or "file".
    std::string from;
  };
  /// Results without indices.
  std::vector<Scalar> scalars;
  /// The number of tokens' choices that found no place.
  double dropped = 0;
  /// Cotangents of the results that gradients are taken of; empty without a
  /// backward pass.
  std::vector<Cotangent> cotangents;
};

/// Whether a result counts the choices of tokens that found no place
/// (tpsp-count-dropped). It has one count for each group; their sum is
/// reported.
bool isDroppedCount(const PlanBuffer &tensor);

/// INVALID, with a way out, if more than `most` choices found no place. A
/// negative `most` allows any number.
Status checkDropped(double dropped, int64_t most);

/// Reads a tensor without indices after a step, or the sum of a tensor that has
/// some. Of several replicas it reads the first; summands of a partial tensor
/// are all combined. Reading allocates nothing.
class ScalarReader {
public:
  /// Both must outlive it.
  ScalarReader(World &world, const PlanBuffer &tensor);

  /// If there are several processes, the one with rank 0 gets the value.
  Status read(double &out) const;

private:
  World *world;
  const PlanBuffer *tensor;
  /// By rank: whether it is the first that holds its part.
  std::vector<char> isFirst;
  /// By rank: its part.
  std::vector<Shard> shards;
};

/// Reads the scalars of the last step. If there are several processes, the one
/// with rank 0 gets them.
Status readResults(World &world, const Plan &plan, const TensorSource &source,
                   StepResults &out);

/// A line for each scalar, and one for the cotangents; empty without either.
std::string toText(const StepResults &results);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_STEPRESULTS_H
