#include "Options.h"

#include "Compilation.h"

#include "tpsp/Runtime/Driver/PlanFile.h"

#include <CLI/CLI.hpp>

#include <charconv>
#include <sstream>

using namespace tpsp;
using namespace tpsp::run;

static constexpr const char *footer = R"(Examples:
  tpsp-run examples/mlp-sp.mlir --grad --verify
      run forward and backward on the file's own mesh and compare every output
      and gradient with the unsharded program in f64
  tpsp-run examples/gpt-block-sp.mlir --mesh tp=2 --grad --steps 5
      the same program on two ranks, five steps
  mpirun -n 4 tpsp-run examples/gpt-block-sp.mlir --grad --verify
      a process for each rank, on one host or several
  tpsp-run examples/llama3-8b-block.mlir --grad --dtype bf16 --report run.json
      bf16 storage, f32 accumulation; ledger, memory and times as JSON
  tpsp-run examples/llama3-8b-block.mlir --grad --simulate --hardware h100-sxm
      what the step would take on four H100, without running it
  tpsp-run examples/gpt-block-sp.mlir --grad --emit block.so
  tpsp-run block.so --verify
      compile into a file, and run that: also where there is no compiler

Exit status: 0 done, 1 the program or the run failed, 2 wrong usage.)";

/// A number of a size that there may be; CLI11's own check names the largest
/// double. Seconds are counted in nanoseconds, of which 64 bits hold some 9e9
/// seconds.
static CLI::Validator numberOf(OptionDomain domain) {
  bool isPositive = domain == OptionDomain::Positive;
  auto check = [isPositive](const std::string &text) -> std::string {
    double number = 0;
    bool isNumber = CLI::detail::lexical_cast(text, number);
    if (isPositive && isNumber && number > 1e9)
      return "expected a number of at most 1e9, not '" + text + "'";
    if (isNumber && number <= 1e9 && (isPositive ? number > 0 : number >= 0))
      return "";
    return std::string("expected a number ") +
           (isPositive ? "above 0" : "from 0 to 1e9") + ", not '" + text + "'";
  };
  return {check, isPositive ? "POSITIVE" : "NUMBER"};
}

/// "tp=4". Which axes there are, the module says.
static CLI::Validator axisSize() {
  auto check = [](const std::string &text) -> std::string {
    size_t equals = text.find('=');
    const char *end = text.data() + text.size();
    int64_t size = 0;
    if (equals != std::string::npos && equals > 0) {
      // CLI11 takes a number that is too large for the largest.
      auto parsed = std::from_chars(text.data() + equals + 1, end, size);
      if (parsed.ec == std::errc() && parsed.ptr == end && size > 0)
        return "";
    }
    return "expected axis=size with a size of at least 1, such as tp=4, not '" +
           text + "'";
  };
  return {check, "AXIS=SIZE"};
}

namespace {

/// Declares the rows of a table on the command line.
class Declaration {
public:
  Declaration(CLI::App &app, Options &options) : app(app), options(options) {}

  /// Of the rows that follow, in the help.
  std::string group;

  template <typename T, typename Owner>
  void operator()(T Owner::*field, const OptionRow &row) {
    if (!row.isInRun)
      return;
    if (row.isOfCompilation)
      options.ofCompilation.push_back(row.name);
    CLI::Option *option = declare(row, options.*field);
    option->group(group);
    if (row.domain == OptionDomain::Positive ||
        row.domain == OptionDomain::NotNegative)
      option->check(numberOf(row.domain));
    if (row.domain == OptionDomain::Share)
      option->check(CLI::Range(0.0, 1.0));
    if (row.domain == OptionDomain::List)
      option->delimiter(',');
    if (row.domain == OptionDomain::AxisSizes)
      option->delimiter(',')->check(axisSize());
  }

private:
  CLI::Option *declare(const OptionRow &row, bool &value) {
    if (!row.isOnOff)
      return app.add_flag(flagOf(row), value, row.help);
    return declareWords(row, {"off", "on"}, value ? "on" : "off",
                        [&](const std::string &word) { value = word == "on"; });
  }

  CLI::Option *declare(const OptionRow &row, std::string &value) {
    if (!row.words.empty())
      return declareWords(row, row.words, value,
                          [&](const std::string &word) { value = word; });
    return shown(app.add_option(flagOf(row), value, row.help), !value.empty());
  }

  CLI::Option *declare(const OptionRow &row, std::vector<std::string> &value) {
    return app.add_option(flagOf(row), value, row.help)
        ->allow_extra_args(false); // the model may follow
  }

  CLI::Option *declare(const OptionRow &row, HardwareChoice &value) {
    return app
        .add_option_function<std::string>(
            flagOf(row), [&](const std::string &name) { value = name; },
            row.help + ("; built in: " + hardwareNames()))
        ->default_str(value.name());
  }

  /// A number. One that may not be given stands for something else.
  template <typename T> CLI::Option *declare(const OptionRow &row, T &value) {
    return shown(app.add_option(flagOf(row), value, row.help),
                 value > 0 || row.domain != OptionDomain::Positive);
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
    auto choose = [this, name = row.name, set](const std::string &word) {
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

} // namespace

/// Whether the file is meant to be a compiled plan.
static bool isPlan(const std::string &path) {
  bool isCalledSo =
      path.size() > 3 && path.compare(path.size() - 3, 3, ".so") == 0;
  return isCalledSo || rt::looksLikePlan(path);
}

/// Parses, and notes what was given.
static void parse(CLI::App &app, int argc, char **argv, Options &options) {
  app.add_option("model", options.model,
                 "The model, a .mlir file, or a compiled plan");
  Declaration declare(app, options);
  declare.group = "What the compiler makes of the model";
  CompileOptions::forEachOption(declare);
  declare.group = "What is done with it";
#define OPTION(type, field, value, row) declare(&Options::field, row);
#include "RunOptions.def"
#undef OPTION
  app.parse(argc, argv);
  for (const CLI::Option *option : app.get_options())
    if (option->count() > 0)
      options.given.insert(option->get_single_name());
  options.isPlan = isPlan(options.model);
}

int tpsp::run::parseOptions(int argc, char **argv, Options &options,
                            bool isSilent) {
  std::ostringstream unheard;
  std::ostream &out = isSilent ? unheard : std::cout;
  std::ostream &err = isSilent ? unheard : std::cerr;
  CLI::App app("Compiles a sharded einsum program and runs it, one thread of "
               "this process per rank, or one process under mpirun.");
  app.footer(footer);
  app.failure_message([](const CLI::App *, const CLI::Error &error) {
    return std::string("tpsp-run: ") + error.what() +
           "\nRun with --help for more information.\n";
  });
  try {
    parse(app, argc, argv, options);
  } catch (const CLI::ParseError &error) {
    return app.exit(error, out, err) == 0 ? Done : Usage;
  }
  std::string problem = contradictionIn(options);
  if (problem.empty())
    return -1;
  err << "tpsp-run: " << problem << "\n";
  return Usage;
}
