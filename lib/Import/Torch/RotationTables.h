/// The frequencies of a rotation, read off its tables of cosines and sines.
#ifndef TPSP_IMPORT_TORCH_ROTATIONTABLES_H
#define TPSP_IMPORT_TORCH_ROTATIONTABLES_H

#include "Constant.h"

#include <optional>

namespace tpsp::import::torch {

/// Pair j of h turns theta^(-j/h) radians a position. `stretch` and the
/// attributes after it slow it down, as those of rope do.
struct Frequencies {
  double theta = 10000, stretch = 1;
  /// Set if pairs that turn often keep their frequencies; 0 otherwise.
  double trained = 0, slowTurns = 0, fastTurns = 0;
  bool isLogarithmic = false;
  /// The factor of all elements.
  double magnitude = 1;
};

/// The frequencies of tables [position, feature] of positions 0, 1, 2, ...,
/// whose halves of features are equal. Nothing if there are none that give
/// every element, as far as its type and PyTorch's angles in f32 are accurate.
std::optional<Frequencies> frequenciesOf(const Constant &cosines,
                                         const Constant &sines);

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_ROTATIONTABLES_H
