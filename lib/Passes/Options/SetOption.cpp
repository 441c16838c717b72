#include "tpsp/Passes/Options/SetOption.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

using namespace tpsp;
using llvm::StringRef;

namespace {

/// Sets the field of the row of one name.
class Setter {
public:
  Setter(CompileOptions &options, StringRef name, StringRef text)
      : problem("no option of the compilation is called '" + name.str() + "'"),
        options(options), name(name), text(text) {}

  template <typename T>
  void operator()(T CompileOptions::*field, const OptionRow &row) {
    if (name != row.name)
      return;
    problem = row.problemOf(text.str());
    if (problem.empty() && !read(options.*field, row))
      problem = "--" + name.str() + " has no value '" + text.str() + "'";
  }

  /// Empty if the option was set.
  std::string problem;

private:
  bool read(bool &value, const OptionRow &) const {
    value = text == "on";
    return text == "on" || text == "off";
  }
  bool read(std::string &value, const OptionRow &) const {
    value = text.str();
    return true;
  }
  bool read(HardwareChoice &value, const OptionRow &) const {
    value = text.str();
    return !text.empty();
  }
  bool read(std::vector<std::string> &value, const OptionRow &) const {
    value.clear();
    for (StringRef each : llvm::split(text, ','))
      value.push_back(each.str());
    return !text.empty();
  }
  bool read(int64_t &value, const OptionRow &row) const {
    return !text.getAsInteger(10, value) &&
           problemOf(row.domain, double(value), text.str()).empty();
  }
  bool read(double &value, const OptionRow &row) const {
    return !text.getAsDouble(value) &&
           problemOf(row.domain, value, text.str()).empty();
  }

  CompileOptions &options;
  const StringRef name, text;
};

} // namespace

std::string tpsp::setOption(CompileOptions &options, const std::string &name,
                            const std::string &text) {
  Setter setter(options, name, text);
  CompileOptions::forEachOption(setter);
  return setter.problem;
}
