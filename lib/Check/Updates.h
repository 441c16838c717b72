/// Updates that ranks make of their own parts, as if a part were the whole
/// parameter.
///
/// An update element by element is the same on parts. Muon's is not: it
/// orthogonalises a matrix, and its norm and products are sums over all parts.
#ifndef TPSP_LIB_CHECK_UPDATES_H
#define TPSP_LIB_CHECK_UPDATES_H

#include "BoundTensors.h"

#include "tpsp/Abi/Plan.h"
#include "tpsp/Abi/RankMesh.h"
#include "tpsp/Check/Change.h"

#include <string>
#include <vector>

namespace tpsp::check {

/// A step whose updates do not communicate over some axes.
struct LocalUpdates {
  /// Ascending.
  std::vector<int64_t> axes;
  Change change;
};

/// The rows of the ledger with which the update of a parameter computes, in
/// program order. The gather of the new parameter is not among them.
std::vector<int64_t> updateRowsOf(const Plan &plan, const rt::RankMesh &mesh,
                                  const PlanBuffer &parameter);

/// Updates on parts over each axis that has such rows, and over all of them.
std::vector<LocalUpdates> localUpdatesOf(const Plan &plan,
                                         const rt::RankMesh &mesh);

/// Adds predictions of new parameters that ranks have updated part by part.
rt::Status addLocalUpdates(Predictor &predictor, const rt::RankMesh &mesh,
                           std::vector<BoundTensor> &tensors);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_UPDATES_H
