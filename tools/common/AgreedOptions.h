// Checks that all processes of a run were given the same options. The tables of
// options say which must agree.
#ifndef TPSP_TOOLS_COMMON_AGREEDOPTIONS_H
#define TPSP_TOOLS_COMMON_AGREEDOPTIONS_H

#include "ToolOptions.h"

#include "tpsp/Runtime/Transport.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace tpsp::tool {

/// Option names, for messages, with hashes of their values.
using Agreed = std::vector<std::pair<std::string, uint64_t>>;

/// Returns the name with a hash of the text.
std::pair<std::string, uint64_t> agreedText(const std::string &name,
                                            const std::string &text);

/// Collects rows of tables of options. A row's `agreement` decides whether its
/// value must agree, or only whether it is given.
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

  /// File names may differ between hosts: of one name its presence is compared,
  /// of a list its length.
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

/// Collects the options that all tools have, including the compiler's.
Agreed agreedOptions(const ToolOptions &options);

/// Returns INVALID, with the first option that differs and the ranks concerned,
/// unless all processes agree. Collective: every process calls it with the same
/// names.
rt::Status checkAgreed(rt::Transport &transport, const Agreed &mine,
                       double timeoutSeconds);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_AGREEDOPTIONS_H
