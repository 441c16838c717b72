// What the processes of a run must have been told alike, from the tables of
// options.
#ifndef TPSP_TOOLS_COMMON_AGREEDOPTIONS_H
#define TPSP_TOOLS_COMMON_AGREEDOPTIONS_H

#include "ToolOptions.h"

#include "tpsp/Runtime/Transport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace tpsp::tool {

/// Names, for messages, and hashes of values.
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
    if (row.agreement != Agreement::Nothing)
      out.push_back(agreedText(std::string("--") + row.name,
                               agreedPart(options.*field, row)));
  }

private:
  template <typename T>
  std::string agreedPart(const T &value, const OptionRow &row) const {
    if (options.isAutomatic(row.name))
      return "auto";
    return row.agreement == Agreement::Value ? textOf(value) : lengthOf(value);
  }

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

/// INVALID with the first name whose values differ, and the ranks, if the
/// processes have not all the same. All call with the same names.
rt::Status checkAgreed(rt::Transport &transport, const Agreed &mine,
                       double timeoutSeconds);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_AGREEDOPTIONS_H
