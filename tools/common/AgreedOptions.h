// What the processes of a run must have been told alike, from the tables of
// options.
#ifndef TPSP_TOOLS_COMMON_AGREEDOPTIONS_H
#define TPSP_TOOLS_COMMON_AGREEDOPTIONS_H

#include "ToolOptions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace tpsp::tool {

/// Names, for messages, and hashes of values; as WorldConfig has them.
using Agreed = std::vector<std::pair<std::string, uint64_t>>;

/// The name with a hash of the text.
std::pair<std::string, uint64_t> agreedText(const std::string &name,
                                            const std::string &text);

/// Collects rows of tables of options. What a row says of agreement decides
/// whether its value counts, or only that there is one.
template <typename Options> class AgreedRows {
public:
  AgreedRows(const Options &options, Agreed &out)
      : options(options), out(out) {}

  template <typename T, typename Owner>
  void operator()(T Owner::*field, const OptionRow &row) {
    if (row.agreement == Agreement::Nothing)
      return;
    bool isValue = row.agreement == Agreement::Value;
    out.push_back(agreedText(std::string("--") + row.name,
                             isValue ? textOf(options.*field)
                                     : lengthOf(options.*field)));
  }

private:
  template <typename T> static std::string textOf(const T &value) {
    return fmt::format("{}", value);
  }
  static std::string textOf(const HardwareChoice &choice) {
    return choice.name();
  }

  /// Of a file's name, whether there is one; of several, how many.
  template <typename T> static std::string lengthOf(const T &value) {
    return textOf(value);
  }
  static std::string lengthOf(const std::string &value) {
    return textOf(!value.empty());
  }
  static std::string lengthOf(const std::vector<std::string> &values) {
    return textOf(values.size());
  }

  const Options &options;
  Agreed &out;
};

/// Of the options of every tool, the compiler's among them.
Agreed agreedOptions(const ToolOptions &options);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_AGREEDOPTIONS_H
