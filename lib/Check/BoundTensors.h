/// The tensors of a dump with those of the program that they should be.
#ifndef TPSP_LIB_CHECK_BOUNDTENSORS_H
#define TPSP_LIB_CHECK_BOUNDTENSORS_H

#include "Hypotheses.h"
#include "RightValues.h"

#include <functional>
#include <memory>

namespace tpsp::check {

struct BoundTensor {
  std::unique_ptr<PlacedTensor> placed;
  TensorCase each;
  TensorVerdict verdict;
  /// Its number among the predictor's results; -1 for an argument.
  int64_t result = -1;
  /// Whether it is right and its values were freed.
  bool isSettled = false;
  /// Whether others are wrong by the same factor, so that one cause may explain
  /// all of them.
  bool sharesFactor = false;
};

/// The values that a dump would have of a tensor, if a step made these results.
RankValues predictionFor(const BoundTensor &tensor,
                         const std::vector<RankValues> &results);

/// Whether the dump has a tensor in the form in which ranks have the result.
bool isOwnPart(const BoundTensor &tensor);

/// The values of the dump. A tensor that is settled has those of the step's
/// own results, which `room` gets if they are in another form.
const RankValues &valuesOf(const BoundTensor &tensor,
                           const std::vector<RankValues> &own,
                           RankValues &room);

/// Makes the verdict that a tensor is right, given what `text` says. It
/// names no collective, and the tensor's own line.
void setFollows(const std::string &text, const RankValues &prediction,
                double error, BoundTensor &tensor);

/// Asks of a run the results of the tensors for which `isAsked` holds.
RunFocus focusOn(const Predictor &predictor,
                 const std::vector<BoundTensor> &tensors,
                 const std::function<bool(const BoundTensor &)> &isAsked);

/// The coarsest type of floating-point numbers in a dump.
int64_t coarsestType(const Dump &dump);

/// How much rounding may do to a tensor of this size and type.
Tolerance toleranceFor(const RankValues &right, const ResultRounding &rounding,
                       int64_t dtype);

/// Sizes that may explain a factor.
std::vector<FactorSource> factorSources(const std::vector<MeshAxis> &mesh,
                                        int64_t microBatches, double scale);

/// Adds the roots of the axes' sizes. A norm may be wrong by one, and an update
/// that is scaled by the root of an extent.
void addRoots(const std::vector<MeshAxis> &mesh,
              std::vector<FactorSource> &sources);

/// Finds for each tensor of a dump the program's.
class BoundTensors {
public:
  /// All must outlive this object and the bound tensors.
  BoundTensors(const Plan &plan, const rt::RankMesh &mesh, Dump &dump,
               const rt::TensorSource &source)
      : plan(plan), mesh(mesh), dump(dump), source(source) {}

  /// Calls `visit` with a bound tensor for each that the program has, which
  /// gets the dump's values. Others get a verdict in `report`.
  rt::Status bind(const RightValues &right,
                  const std::function<void(BoundTensor)> &visit,
                  CheckReport &report);
  /// A scale that may explain a factor.
  double scale = 1;

private:
  const PlanBuffer *find(const DumpEntry &entry) const;
  rt::Status bindTo(const PlanBuffer &buffer, DumpEntry &entry,
                    const RightValues &right,
                    const std::function<void(BoundTensor)> &visit,
                    CheckReport &report) const;
  rt::Status addTerms(BoundTensor &bound) const;
  rt::Status addSummands(const RightValues &right, BoundTensor &bound) const;
  int64_t placeOf(const PlanBuffer &buffer) const;
  int64_t resultOf(const PlanBuffer &buffer, DumpRole role) const;

  const Plan &plan;
  const rt::RankMesh &mesh;
  Dump &dump;
  const rt::TensorSource &source;
};

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_BOUNDTENSORS_H
