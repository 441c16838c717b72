/// Extents of dimensions that an archive has as symbols.
///
/// torch.export writes a dynamic dimension as a symbol, and sizes as
/// expressions of symbols. An import gives each symbol a number.
#ifndef TPSP_IMPORT_TORCH_EXTENTS_H
#define TPSP_IMPORT_TORCH_EXTENTS_H

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <string>

namespace tpsp::import::torch {

class Extents {
public:
  Extents() = default;
  /// Reads the symbols of an archive's model. `wanted` has the extents of
  /// dimensions of inputs: "ids.1" to 64. Throws a Refusal if a symbol has no
  /// extent or two, or one that the module does not allow.
  Extents(const nlohmann::json &model,
          const std::map<std::string, int64_t> &wanted);

  /// A size, {"as_int": 3} or {"as_expr": ...}; or the name of an integer that
  /// the graph computes, {"as_name": "mul_1"}. Throws a Refusal if it depends
  /// on the inputs' elements.
  int64_t of(const nlohmann::json &size) const;

private:
  int64_t evaluate(const std::string &expression) const;

  std::map<std::string, int64_t> symbols;
  /// Integers of the graph by their names.
  std::map<std::string, std::string> integers;
};

} // namespace tpsp::import::torch

#endif // TPSP_IMPORT_TORCH_EXTENTS_H
