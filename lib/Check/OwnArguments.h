/// Results that follow from an argument of which ranks have other values than
/// the program took, such as copies that differ.
#ifndef TPSP_LIB_CHECK_OWNARGUMENTS_H
#define TPSP_LIB_CHECK_OWNARGUMENTS_H

#include "BoundTensors.h"

namespace tpsp::check {

/// Runs a step in which each rank has its own values of such arguments. Results
/// that are right in it get the verdict that they follow, and no cause is
/// sought for them. The others are compared with this step from now on, and
/// `base` has the arguments. A step that contradicts a right result is not the
/// run's: then nothing changes.
///
/// `own` are the results of the step without a change.
rt::Status judgeByOwnArguments(Predictor &predictor,
                               const std::vector<RankValues> &own,
                               std::vector<BoundTensor> &tensors, Change &base);

} // namespace tpsp::check

#endif // TPSP_LIB_CHECK_OWNARGUMENTS_H
