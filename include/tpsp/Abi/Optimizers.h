/// The names of the optimizers, for options and messages.
#ifndef TPSP_ABI_OPTIMIZERS_H
#define TPSP_ABI_OPTIMIZERS_H

#include <string>
#include <vector>

namespace tpsp {

/// In the order of Optimizers.def.
inline std::vector<std::string> optimizerNames() {
  return {
#define OPTIMIZER(name, function) name,
#include "tpsp/Abi/Optimizers.def"
#undef OPTIMIZER
  };
}

} // namespace tpsp

#endif // TPSP_ABI_OPTIMIZERS_H
