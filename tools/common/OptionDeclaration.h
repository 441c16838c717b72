// Rows of tables of options (OptionRow.h) as flags of a command line.
#ifndef TPSP_TOOLS_COMMON_OPTIONDECLARATION_H
#define TPSP_TOOLS_COMMON_OPTIONDECLARATION_H

#include "Compile.h"
#include "ToolOptions.h"

#include <CLI/CLI.hpp>

#include <functional>

namespace tpsp::tool {

/// Accepts the numbers of this domain.
CLI::Validator numberOf(OptionDomain domain);

/// Accepts whole numbers below 2^64. CLI11 itself would read -1, or a larger
/// number, as the largest one.
CLI::Validator seed();

/// Rejects an empty value: it usually comes from an unset shell variable.
CLI::Validator notEmpty();

/// Accepts "tp=4". Whether the module has such an axis is checked later.
CLI::Validator axisSize();
/// Accept "s=8192". Whether the module has such an index is checked later.
CLI::Validator indexExtent();
CLI::Validator indexMultiple();

/// Declares the rows of a table on the command line. `Options` is ToolOptions
/// or a class derived from it.
template <typename Options> class Declaration {
public:
  /// `app` and `options` must outlive the parsing; this object need not.
  Declaration(CLI::App &app, Options &options) : app(app), options(options) {}

  /// The heading, in the help, of the rows that follow.
  std::string group;
  /// Names of options that the tool does not have.
  std::set<std::string> withheld;

  template <typename T, typename Owner>
  void operator()(T Owner::*field, const OptionRow &row) {
    if (!row.isInRun || withheld.count(row.name) > 0)
      return;
    if (row.isOfCompilation)
      options.ofCompilation.push_back(row.name);
    CLI::Option *option = declare(row, options.*field);
    option->group(group);
    if (row.domain == OptionDomain::Positive ||
        row.domain == OptionDomain::NotNegative ||
        row.domain == OptionDomain::Share)
      option->check(numberOf(row.domain));
    if (row.domain == OptionDomain::Seed)
      option->check(seed());
    if (row.domain == OptionDomain::List)
      option->delimiter(',');
    if (row.domain == OptionDomain::AxisSizes)
      option->delimiter(',')->check(axisSize());
    if (row.domain == OptionDomain::Extents)
      option->delimiter(',')->check(indexExtent());
    if (row.domain == OptionDomain::Multiples)
      option->delimiter(',')->check(indexMultiple());
  }

private:
  CLI::Option *declare(const OptionRow &row, bool &value) {
    if (!row.isOnOff)
      return app.add_flag(flagOf(row), value, row.help);
    return declareWords(
        row, {"off", "on"}, value ? "on" : "off",
        [&value](const std::string &word) { value = word == "on"; });
  }

  CLI::Option *declare(const OptionRow &row, std::string &value) {
    if (row.bare)
      return app.add_flag(flagOf(row) + "{" + row.bare + "}", value, row.help)
          ->check(CLI::IsMember(row.words));
    if (!row.words.empty())
      return declareWords(row, row.words, value,
                          [&value](const std::string &word) { value = word; });
    return shown(app.add_option(flagOf(row), value, row.help), !value.empty())
        ->check(notEmpty());
  }

  CLI::Option *declare(const OptionRow &row, std::vector<std::string> &value) {
    return app
        .add_option(flagOf(row), value, row.help)
        // Otherwise the list would swallow a model that follows it.
        ->allow_extra_args(row.domain == OptionDomain::Files);
  }

  CLI::Option *declare(const OptionRow &row, HardwareChoice &value) {
    return app
        .add_option_function<std::string>(
            flagOf(row), [&value](const std::string &name) { value = name; },
            row.help + ("; built in: " + hardwareNames()))
        ->default_str(value.name())
        ->check(notEmpty());
  }

  /// Declares a number. A default that the domain excludes is a marker for "not
  /// given", and the help does not show it.
  template <typename T> CLI::Option *declare(const OptionRow &row, T &value) {
    return shown(app.add_option(flagOf(row), value, row.help),
                 value > 0 ||
                     (value == 0 && row.domain != OptionDomain::Positive));
  }

  CLI::Option *declareWords(const OptionRow &row,
                            std::vector<std::string> words, std::string initial,
                            std::function<void(const std::string &)> set) {
    std::string help = row.help;
    if (row.automatic) {
      options.automatic.insert(row.name);
      words.insert(words.begin(), "auto");
      initial = "auto";
      help += std::string("; auto: ") + row.automatic;
    }
    auto choose = [&options = options, name = row.name,
                   set](const std::string &word) {
      if (options.automatic.count(name) > 0 && word == "auto")
        return;
      options.automatic.erase(name);
      set(word);
    };
    return app.add_option_function<std::string>(flagOf(row), choose, help)
        ->check(CLI::IsMember(words))
        ->default_str(initial);
  }

  static CLI::Option *shown(CLI::Option *option, bool hasDefault) {
    return hasDefault ? option->capture_default_str() : option;
  }

  static std::string flagOf(const OptionRow &row) {
    std::string flag = std::string("--") + row.name;
    return row.shortFlag ? row.shortFlag + ("," + flag) : flag;
  }

  CLI::App &app;
  Options &options;
};

/// Declares the model and the compiler's options.
template <typename Options>
void declareCompiling(
    CLI::App &app, Options &options, Declaration<Options> &declare,
    const char *model = "The model, a .mlir file, or a compiled plan") {
  app.add_option("model", options.model, model);
  declare.group = "What the compiler makes of the model";
  CompileOptions::forEachOption(declare);
}

/// Declares the options of all tools, in the declaration's group.
template <typename Options> void declareCommon(Declaration<Options> &declare) {
#define OPTION(type, field, value, row) declare(&ToolOptions::field, row);
#include "ToolOptions.def"
#undef OPTION
}

/// The description of a command line, for parseCommandLine().
struct CommandLine {
  /// The texts that --help shows before and after the options.
  const char *summary, *footer;
  /// Declares the options.
  std::function<void(CLI::App &)> declare;
  /// Called after parsing. Returns a sentence about options that contradict
  /// each other, or an empty string.
  std::function<std::string()> problem;
};

/// Parses, and records in `options` which options were given and whether the
/// model is a compiled plan. Returns -1 to go on, else the exit status: 0 after
/// --help, 2 after a message about wrong usage. Messages are printed, or stored
/// in `said` if it is not null.
int parseCommandLine(int argc, char **argv, ToolOptions &options,
                     const CommandLine &line, std::string *said = nullptr);

} // namespace tpsp::tool

#endif // TPSP_TOOLS_COMMON_OPTIONDECLARATION_H
