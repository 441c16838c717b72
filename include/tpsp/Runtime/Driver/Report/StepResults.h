/// What a step computed, as far as a line can say it: results that are scalars,
/// and what gradients are of.
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
  /// The choices of tokens that found no place.
  double dropped = 0;
  /// Cotangents of the results that gradients are taken of; empty without a
  /// backward pass.
  std::vector<Cotangent> cotangents;
};

/// Whether a result is how many choices of tokens found no place
/// (tpsp-count-dropped), for each group: what is said is their sum.
bool isDroppedCount(const PlanBuffer &tensor);

/// INVALID if more choices found no place than `most`, with a way out; a
/// negative one allows any number.
Status checkDropped(double dropped, int64_t most);

/// Reads a tensor without indices, or the sum of one that has some, after a
/// step. Of replicas the first counts, and of what is still to be combined,
/// all. To read allocates nothing.
class ScalarReader {
public:
  /// Both must outlive it.
  ScalarReader(World &world, const PlanBuffer &tensor);

  /// Of several processes that with rank 0 gets it.
  Status read(double &out) const;

private:
  World *world;
  const PlanBuffer *tensor;
  /// By rank: whether it is the first that holds its part.
  std::vector<char> isFirst;
  /// By rank, its part.
  std::vector<Shard> shards;
};

/// Reads the scalars of the last step. Of several processes that with rank 0
/// gets them.
Status readResults(World &world, const Plan &plan, const TensorSource &source,
                   StepResults &out);

/// A line for each scalar, and one for the cotangents; empty without either.
std::string toText(const StepResults &results);

} // namespace tpsp::rt

#endif // TPSP_RUNTIME_DRIVER_REPORT_STEPRESULTS_H
